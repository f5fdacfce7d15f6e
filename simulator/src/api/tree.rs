//! Object trees without spare capacity, for caches that hold many of them.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::Object;

/// Parses an object.
///
/// # Errors
/// The JSON is invalid or not an object.
pub(crate) fn parse(bytes: &[u8]) -> Result<Object, serde_json::Error> {
    match serde_json::from_slice::<Fitted>(bytes)? {
        Fitted(Value::Object(object)) => Ok(object),
        Fitted(other) => serde_json::from_value(other),
    }
}

/// Value whose maps and lists have no spare capacity.
struct Fitted(Value);

impl<'de> Deserialize<'de> for Fitted {
    fn deserialize<D: Deserializer<'de>>(data: D) -> Result<Self, D::Error> {
        data.deserialize_any(FittedVisitor)
    }
}

struct FittedVisitor;

impl<'de> Visitor<'de> for FittedVisitor {
    type Value = Fitted;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Fitted, E> {
        Ok(Fitted(Value::Null))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Fitted, E> {
        Ok(Fitted(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Fitted, E> {
        Ok(Fitted(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Fitted, E> {
        Ok(Fitted(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Fitted, E> {
        Ok(Fitted(value.into()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Fitted, E> {
        Ok(Fitted(value.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Fitted, A::Error> {
        let mut list = Vec::new();
        while let Some(Fitted(item)) = items.next_element()? {
            list.push(item);
        }
        list.shrink_to_fit();
        Ok(Fitted(Value::Array(list)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Fitted, A::Error> {
        let mut all = Vec::new();
        while let Some((name, Fitted(value))) = members.next_entry::<String, _>()? {
            all.push((name, value));
        }
        let mut map = Map::with_capacity(all.len());
        map.extend(all);
        Ok(Fitted(Value::Object(map)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_equals_that_of_serde_json() {
        let text =
            r#"{"a":{"b":[1,-2,2.5,18446744073709551615,true,null,"x\"\u00e9",[],{}]},"z":"","a2":1,"a":{"again":1}}"#;
        let expected: Object = serde_json::from_str(text).unwrap();
        assert_eq!(parse(text.as_bytes()).unwrap(), expected);
        assert_eq!(
            serde_json::to_string(&parse(text.as_bytes()).unwrap()).unwrap(),
            serde_json::to_string(&expected).unwrap()
        );
        for wrong in ["[]", "1", "{", "{\"a\":1}x"] {
            assert!(parse(wrong.as_bytes()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn lists_have_no_spare_capacity() {
        let tree = parse(br#"{"list":[1,2,3,4,5]}"#).unwrap();
        let list = match &tree["list"] {
            Value::Array(list) => list,
            other => panic!("{other}"),
        };
        assert_eq!((list.len(), list.capacity()), (5, 5));
    }
}
