//! `printf` and the escapes of `echo -e`.

/// The meaning of an escape.
enum Escape {
    Byte(u8),
    /// `\c`: ends the output.
    End,
    /// Not an escape: the backslash is literal.
    None,
}

/// Parses the escape after a backslash. Returns it with its length in bytes.
fn escape(text: &[u8]) -> (Escape, usize) {
    let simple = |byte| (Escape::Byte(byte), 1);
    match text.first() {
        Some(b'n') => simple(b'\n'),
        Some(b't') => simple(b'\t'),
        Some(b'r') => simple(b'\r'),
        Some(b'a') => simple(7),
        Some(b'b') => simple(8),
        Some(b'f') => simple(12),
        Some(b'v') => simple(11),
        Some(b'e') => simple(27),
        Some(b'\\') => simple(b'\\'),
        Some(b'c') => (Escape::End, 1),
        Some(b'x') => number(text, 1, 2, 16),
        Some(b'0') => number(text, 1, 3, 8),
        Some(b'1'..=b'7') => number(text, 0, 3, 8),
        _ => (Escape::None, 0),
    }
}

/// Parses at most `max_digits` digits from `from` on. `\0` alone is a zero byte.
fn number(text: &[u8], from: usize, max_digits: usize, radix: u32) -> (Escape, usize) {
    let digits = text
        .iter()
        .skip(from)
        .take(max_digits)
        .take_while(|byte| char::from(**byte).is_digit(radix))
        .count();
    if digits == 0 && radix == 16 {
        return (Escape::None, 0);
    }
    let value = text[from..from + digits]
        .iter()
        .filter_map(|byte| char::from(*byte).to_digit(radix))
        .fold(0_u32, |value, digit| value * radix + digit);
    (Escape::Byte((value & 0xff) as u8), from + digits)
}

/// Replaces the escapes of a text. Returns the result, and whether `\c` ended it.
pub(crate) fn unescape(text: &str) -> (Vec<u8>, bool) {
    let bytes = text.as_bytes();
    let mut output = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] != b'\\' {
            output.push(bytes[at]);
            at += 1;
            continue;
        }
        let (found, length) = escape(&bytes[at + 1..]);
        match found {
            Escape::Byte(byte) => output.push(byte),
            Escape::End => return (output, true),
            Escape::None => output.push(b'\\'),
        }
        at += 1 + length;
    }
    (output, false)
}

/// A conversion such as `%-5.2f`.
#[derive(Default)]
struct Conversion {
    left: bool,
    plus: bool,
    zero: bool,
    alternate: bool,
    space: bool,
    width: usize,
    precision: Option<usize>,
}

/// Maximum field width.
const MAX_WIDTH: usize = 4_096;

/// `printf FORMAT [ARGUMENT...]`. Returns the output, and the error message about arguments that are not numbers.
pub(crate) fn format(format: &str, arguments: &[String]) -> (Vec<u8>, Option<String>) {
    let mut output = Vec::new();
    let mut complaint = None;
    let mut rest = arguments.iter();
    loop {
        let before = rest.len();
        let ended = once(format, &mut rest, &mut output, &mut complaint);
        // The format is reused while arguments are left.
        if ended || rest.len() == 0 || rest.len() == before || output.len() > crate::limits::LIMITS.value {
            return (output, complaint);
        }
    }
}

fn once(
    format: &str,
    arguments: &mut std::slice::Iter<'_, String>,
    output: &mut Vec<u8>,
    complaint: &mut Option<String>,
) -> bool {
    let bytes = format.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => {
                let (found, length) = escape(&bytes[at + 1..]);
                match found {
                    Escape::Byte(byte) => output.push(byte),
                    Escape::End => return true,
                    Escape::None => output.push(b'\\'),
                }
                at += 1 + length;
            }
            b'%' if bytes.get(at + 1) == Some(&b'%') => {
                output.push(b'%');
                at += 2;
            }
            b'%' => {
                let (conversion, length) = conversion(&bytes[at + 1..], arguments);
                at += 1 + length;
                let Some(kind) = bytes.get(at) else { return true };
                at += 1;
                if convert(*kind, &conversion, arguments, output, complaint) {
                    return true;
                }
            }
            byte => {
                output.push(byte);
                at += 1;
            }
        }
    }
    false
}

/// Parses flags, width and precision. Returns them with their length in bytes.
fn conversion(text: &[u8], arguments: &mut std::slice::Iter<'_, String>) -> (Conversion, usize) {
    let mut conversion = Conversion::default();
    let mut at = 0;
    loop {
        match text.get(at) {
            Some(b'-') => conversion.left = true,
            Some(b'+') => conversion.plus = true,
            Some(b'0') => conversion.zero = true,
            Some(b'#') => conversion.alternate = true,
            Some(b' ') => conversion.space = true,
            _ => break,
        }
        at += 1;
    }
    let mut number = |at: &mut usize| {
        if text.get(*at) == Some(&b'*') {
            *at += 1;
            return arguments
                .next()
                .and_then(|text| text.parse().ok())
                .unwrap_or(0)
                .min(MAX_WIDTH);
        }
        let mut value = 0_usize;
        while let Some(digit) = text.get(*at).filter(|byte| byte.is_ascii_digit()) {
            value = (value * 10 + usize::from(digit - b'0')).min(MAX_WIDTH);
            *at += 1;
        }
        value
    };
    conversion.width = number(&mut at);
    if text.get(at) == Some(&b'.') {
        at += 1;
        conversion.precision = Some(number(&mut at));
    }
    while matches!(text.get(at), Some(b'l' | b'h' | b'q')) {
        at += 1;
    }
    (conversion, at)
}

/// Formats one argument. Returns whether `\c` in a `%b` ended the output.
fn convert(
    kind: u8,
    conversion: &Conversion,
    arguments: &mut std::slice::Iter<'_, String>,
    output: &mut Vec<u8>,
    complaint: &mut Option<String>,
) -> bool {
    let argument = arguments.next().map(String::as_str).unwrap_or_default();
    let mut ended = false;
    let text = match kind {
        b's' => limited(argument.as_bytes(), conversion),
        b'b' => {
            let (text, end) = unescape(argument);
            ended = end;
            limited(&text, conversion)
        }
        b'c' => argument
            .chars()
            .next()
            .map_or(Vec::new(), |letter| letter.to_string().into_bytes()),
        b'd' | b'i' | b'u' | b'x' | b'X' | b'o' => integer(kind, conversion, argument, complaint).into_bytes(),
        b'f' | b'F' | b'e' | b'E' | b'g' | b'G' => {
            let value: f64 = argument.trim().parse().unwrap_or_else(|_| {
                invalid(argument, complaint);
                0.0
            });
            let precision = conversion.precision.unwrap_or(6);
            let text = match kind {
                b'e' | b'E' => exponent(value, precision),
                b'g' | b'G' => format!("{value}"),
                _ => format!("{value:.precision$}"),
            };
            sign(value >= 0.0, conversion) + &text
        }
        .into_bytes(),
        other => {
            *complaint = Some(format!("printf: %{}: invalid format", char::from(other)));
            return true;
        }
    };
    pad(&text, kind, conversion, output);
    ended
}

fn limited(text: &[u8], conversion: &Conversion) -> Vec<u8> {
    text[..conversion.precision.unwrap_or(text.len()).min(text.len())].to_vec()
}

fn invalid(argument: &str, complaint: &mut Option<String>) {
    if !argument.is_empty() {
        *complaint = Some(format!("printf: invalid number '{argument}'"));
    }
}

fn sign(positive: bool, conversion: &Conversion) -> String {
    match positive {
        true if conversion.plus => "+",
        true if conversion.space => " ",
        _ => "",
    }
    .to_owned()
}

fn integer(kind: u8, conversion: &Conversion, argument: &str, complaint: &mut Option<String>) -> String {
    let letter = argument.strip_prefix(['\'', '"']).and_then(|text| text.chars().next());
    let value = match letter {
        Some(letter) => i64::from(u32::from(letter)),
        None => crate::arithmetic::number(argument.trim()).unwrap_or_else(|| {
            invalid(argument, complaint);
            0
        }),
    };
    let precision = conversion.precision.unwrap_or(1);
    match kind {
        b'x' if conversion.alternate => format!("0x{value:0precision$x}"),
        b'x' => format!("{value:0precision$x}"),
        b'X' => format!("{value:0precision$X}"),
        b'o' => format!("{value:0precision$o}"),
        b'u' => format!("{:0precision$}", value as u64),
        _ if value < 0 => format!("-{:0precision$}", value.unsigned_abs()),
        _ => sign(true, conversion) + &format!("{value:0precision$}"),
    }
}

fn exponent(value: f64, precision: usize) -> String {
    let text = format!("{value:.precision$e}");
    let (mantissa, power) = text.split_once('e').unwrap_or((&text, "0"));
    let power: i32 = power.parse().unwrap_or_default();
    format!("{mantissa}e{}{:02}", if power < 0 { '-' } else { '+' }, power.abs())
}

fn pad(text: &[u8], kind: u8, conversion: &Conversion, output: &mut Vec<u8>) {
    let length = String::from_utf8_lossy(text).chars().count();
    let missing = conversion.width.saturating_sub(length);
    let zeros = conversion.zero
        && !conversion.left
        && !matches!(kind, b's' | b'b' | b'c')
        && conversion.precision.is_none_or(|_| kind == b'f');
    if conversion.left {
        output.extend_from_slice(text);
        output.extend(std::iter::repeat_n(b' ', missing));
    } else if zeros {
        let signed = usize::from(text.first().is_some_and(|byte| matches!(byte, b'-' | b'+' | b' ')));
        output.extend_from_slice(&text[..signed]);
        output.extend(std::iter::repeat_n(b'0', missing));
        output.extend_from_slice(&text[signed..]);
    } else {
        output.extend(std::iter::repeat_n(b' ', missing));
        output.extend_from_slice(text);
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("%s-%s\\n", &["a", "b", "c"], "a-b\nc-\n")]
    #[case("%05d|%-5d|%+d|%5.1f", &["42", "7", "3", "2.25"], "00042|7    |+3|  2.2")]
    #[case("%x %X %o %c %%", &["255", "255", "8", "xyz"], "ff FF 10 x %")]
    #[case("%b|", &["a\\tb"], "a\tb|")]
    #[case("\\101\\x42", &[], "AB")]
    #[case("%*d", &["4", "1"], "   1")]
    #[case("%e", &["12345.678"], "1.234568e+04")]
    #[case("plain", &["unused"], "plain")]
    fn a_format_consumes_its_arguments_in_order(
        #[case] text: &str,
        #[case] arguments: &[&str],
        #[case] expected: &str,
    ) {
        let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
        let (output, complaint) = format(text, &arguments);
        assert_eq!(
            (String::from_utf8(output).unwrap().as_str(), complaint),
            (expected, None)
        );
    }

    #[test]
    fn an_argument_that_is_not_a_number_is_reported() {
        let (output, complaint) = format("%d", &["seven".to_owned()]);
        assert_eq!(output, b"0");
        assert_eq!(complaint.as_deref(), Some("printf: invalid number 'seven'"));
    }
}
