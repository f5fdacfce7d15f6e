//! The protobuf wire format: numbered fields of numbers or bytes.

/// A decoding error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(super) struct Malformed(pub(super) &'static str);

const TRUNCATED: Malformed = Malformed("it is truncated");
const MISTYPED: Malformed = Malformed("a field has another type than expected");

/// A value on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scalar<'a> {
    /// A variable-length integer.
    Varint(u64),
    /// A string, bytes, a message or packed numbers.
    Bytes(&'a [u8]),
    /// Eight or four bytes, which no API type uses.
    Fixed,
}

impl<'a> Scalar<'a> {
    pub(super) fn varint(self) -> Result<u64, Malformed> {
        match self {
            Self::Varint(number) => Ok(number),
            _ => Err(MISTYPED),
        }
    }

    pub(super) fn bytes(self) -> Result<&'a [u8], Malformed> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            _ => Err(MISTYPED),
        }
    }

    pub(super) fn text(self) -> Result<&'a str, Malformed> {
        std::str::from_utf8(self.bytes()?).map_err(|_| Malformed("a string is not UTF-8"))
    }
}

/// Iterator over the fields of a message: number and value. Ends after an error.
pub(super) struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    pub(super) fn new(message: &'a [u8]) -> Self {
        Self(message)
    }

    fn read(&mut self) -> Result<(u32, Scalar<'a>), Malformed> {
        let tag = varint(&mut self.0)?;
        let number = u32::try_from(tag >> 3).map_err(|_| Malformed("a field number is out of range"))?;
        let scalar = match tag & 7 {
            0 => Scalar::Varint(varint(&mut self.0)?),
            1 => take(&mut self.0, 8).map(|_| Scalar::Fixed)?,
            2 => {
                let length = varint(&mut self.0)?;
                Scalar::Bytes(take(&mut self.0, usize::try_from(length).unwrap_or(usize::MAX))?)
            }
            5 => take(&mut self.0, 4).map(|_| Scalar::Fixed)?,
            _ => return Err(Malformed("it has a field of an unknown wire type")),
        };
        Ok((number, scalar))
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u32, Scalar<'a>), Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let field = self.read();
        if field.is_err() {
            self.0 = &[];
        }
        Some(field)
    }
}

/// Returns an iterator over the numbers of a packed field. Ends after an error.
pub(super) fn packed(mut bytes: &[u8]) -> impl Iterator<Item = Result<u64, Malformed>> {
    std::iter::from_fn(move || {
        if bytes.is_empty() {
            return None;
        }
        let number = varint(&mut bytes);
        if number.is_err() {
            bytes = &[];
        }
        Some(number)
    })
}

fn take<'a>(bytes: &mut &'a [u8], length: usize) -> Result<&'a [u8], Malformed> {
    let (taken, rest) = bytes.split_at_checked(length).ok_or(TRUNCATED)?;
    *bytes = rest;
    Ok(taken)
}

fn varint(bytes: &mut &[u8]) -> Result<u64, Malformed> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first().ok_or(TRUNCATED)?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(number);
        }
    }
    Err(Malformed("a number is longer than ten bytes"))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[test]
    fn fields_come_in_order() {
        let fields: Vec<_> = Fields::new(b"\x08\x96\x01\x12\x02hi\x1d1234\x21abcdefgh").collect();
        let expected = [
            (1, Scalar::Varint(150)),
            (2, Scalar::Bytes(b"hi")),
            (3, Scalar::Fixed),
            (4, Scalar::Fixed),
        ];
        assert_eq!(fields, expected.map(Ok));
        assert_eq!(packed(b"\x01\x96\x01").collect::<Vec<_>>(), [Ok(1), Ok(150)]);
    }

    #[rstest]
    #[case(b"\x08", "it is truncated")]
    #[case(b"\x12\x05hi", "it is truncated")]
    #[case(b"\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "it is truncated")]
    #[case(b"\x0b", "it has a field of an unknown wire type")]
    #[case(
        b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
        "a number is longer than ten bytes"
    )]
    fn a_malformed_message_ends_with_an_error(#[case] message: &[u8], #[case] error: &str) {
        let fields: Vec<_> = Fields::new(message).collect();
        assert_eq!(fields.len(), 1);
        assert_eq!(fields[0].unwrap_err().to_string(), error);
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_terminate(message in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..200)) {
            proptest::prop_assert!(Fields::new(&message).count() <= message.len());
        }
    }
}
