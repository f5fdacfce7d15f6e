//! Named classes of characters: `\d`, `\p{Alpha}`, `\p{IsLatin}`.

/// Characters that end a line.
pub(super) const LINE_ENDS: &str = r"\n\r\x{85}\x{2028}\x{2029}";

/// Returns the content of the class of an escape such as `\w`, for its lower-case letter.
pub(super) fn of_escape(letter: char, is_unicode: bool) -> Option<&'static str> {
    Some(match (letter, is_unicode) {
        ('d', false) => "0-9",
        ('s', false) => r" \t-\r",
        ('w', false) => "0-9A-Za-z_",
        ('d', true) => r"\p{Nd}",
        ('s', true) => r"\p{White_Space}",
        ('w', true) => r"\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}",
        ('h', _) => r"\x{20}\t\x{A0}\x{1680}\x{180E}\x{2000}-\x{200A}\x{202F}\x{205F}\x{3000}",
        ('v', _) => r"\n-\r\x{85}\x{2028}\x{2029}",
        _ => return None,
    })
}

/// General categories.
const CATEGORIES: [&str; 37] = [
    "L", "Lu", "Ll", "Lt", "Lm", "Lo", "M", "Mn", "Mc", "Me", "N", "Nd", "Nl", "No", "P", "Pc", "Pd", "Ps", "Pe", "Pi",
    "Pf", "Po", "S", "Sm", "Sc", "Sk", "So", "Z", "Zs", "Zl", "Zp", "C", "Cc", "Cf", "Co", "Cn", "LC",
];

/// Returns the content of the class of a property, or `None` if Java does not know it.
pub(super) fn of_property(name: &str) -> Option<String> {
    let content = match name {
        "Lower" => "a-z",
        "Upper" => "A-Z",
        "ASCII" => r"\x00-\x7F",
        "Alpha" => "A-Za-z",
        "Digit" => "0-9",
        "Alnum" => "0-9A-Za-z",
        "Punct" => r"!-/:-@\[-`\{-\~",
        "Graph" => r"!-\~",
        "Print" => r"\x20-\~",
        "Blank" => r"\x20\t",
        "Cntrl" => r"\x00-\x1F\x7F",
        "XDigit" => "0-9A-Fa-f",
        "Space" => r"\x20\t-\r",
        "L1" => r"\x00-\xFF",
        "LD" | "javaLetterOrDigit" => r"\p{L}\p{Nd}",
        "all" => r"\x{0}-\x{10FFFF}",
        "javaLowerCase" => r"\p{Lowercase}",
        "javaUpperCase" => r"\p{Uppercase}",
        "javaTitleCase" => r"\p{Lt}",
        "javaAlphabetic" => r"\p{Alphabetic}",
        "javaIdeographic" => r"\p{Ideographic}",
        "javaDigit" => r"\p{Nd}",
        "javaDefined" => r"\P{Cn}",
        "javaLetter" => r"\p{L}",
        "javaSpaceChar" => r"\p{Z}",
        "javaWhitespace" => r"\t-\r\x1C-\x1F[\p{Z}&&[^\x{A0}\x{2007}\x{202F}]]",
        "javaISOControl" => r"\p{Cc}",
        name if CATEGORIES.contains(&name) => return Some(format!(r"\p{{{name}}}")),
        name => {
            let (kind, value) = name.split_once('=').unwrap_or(("", name));
            let property = match kind.to_ascii_lowercase().as_str() {
                "" => value.strip_prefix("Is")?.to_owned(),
                "sc" | "script" => format!("script={value}"),
                "gc" | "general_category" if CATEGORIES.contains(&value) => value.to_owned(),
                _ => return None,
            };
            let class = format!(r"\p{{{property}}}");
            return regex_syntax::parse(&class).is_ok().then_some(class);
        }
    };
    Some(content.to_owned())
}
