//! JSON and YAML bodies: encoding and decoding.

use serde_json::Value;

/// Encoding of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Media {
    /// JSON.
    Json,
    /// YAML.
    Yaml,
}

impl Media {
    /// Returns the encoding that a Content-Type header names. Its parameters are ignored.
    pub fn of(content_type: &str) -> Option<Self> {
        match content_type.split(';').next().map(str::trim) {
            Some("application/json") => Some(Self::Json),
            Some("application/yaml") => Some(Self::Yaml),
            _ => None,
        }
    }
}

/// Encodes a value.
///
/// # Errors
/// The reason why the value cannot be encoded.
pub fn encode(value: &Value, media: Media) -> Result<String, String> {
    match media {
        Media::Json => serde_json::to_string(value).map_err(|e| e.to_string()),
        Media::Yaml => serde_saphyr::to_string(value).map_err(|e| e.to_string()),
    }
}

/// Decodes a value.
///
/// # Errors
/// The reason why the text cannot be decoded.
pub fn decode(text: &str, media: Media) -> Result<Value, String> {
    match media {
        Media::Json => serde_json::from_str(text).map_err(|e| e.to_string()),
        // Only the first line: further lines quote the text.
        Media::Yaml => serde_saphyr::from_str_with_options(text, within(text.len()))
            .map_err(|e| e.to_string().lines().next().unwrap_or_default().to_owned()),
    }
}

/// Options whose limits a text of this length without aliases does not reach.
fn within(length: usize) -> serde_saphyr::Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_nodes: length + 1,
            max_events: 2 * length + 8,
        },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_encoded_value_decodes_to_the_same() {
        let texts = [
            "yes",
            "1",
            "null",
            "1e3",
            "~",
            "",
            " x ",
            "a: b",
            "#",
            "lives=3\nenemies=aliens\n",
            "0x10",
            "12:30",
        ];
        let value = json!({"a": texts, "b": {"c": 1, "d": true, "e": null}, "f": []});
        for media in [Media::Json, Media::Yaml] {
            let text = encode(&value, media).unwrap();
            assert_eq!(decode(&text, media), Ok(value.clone()), "{text}");
        }
    }

    #[test]
    fn a_long_list_is_read() {
        let list = json!({"items": vec![json!({"a": [1, 2, 3]}); 60_000]});
        let text = encode(&list, Media::Yaml).unwrap();
        assert_eq!(decode(&text, Media::Yaml), Ok(list));
    }

    #[test]
    fn yaml_as_servers_write_it_is_read() {
        let text = "apiVersion: v1\nitems:\n- metadata:\n    creationTimestamp: 2026-11-21T11:46:45Z\n\
                    \x20   resourceVersion: \"13\"\nlives: |\n  3\n  4\n";
        let value = decode(text, Media::Yaml).unwrap();
        assert_eq!(
            value["items"][0]["metadata"]["creationTimestamp"],
            "2026-11-21T11:46:45Z"
        );
        assert_eq!(value["items"][0]["metadata"]["resourceVersion"], "13");
        assert_eq!(value["lives"], "3\n4\n");
    }

    #[test]
    fn parameters_of_a_media_type_are_ignored() {
        assert_eq!(Media::of("application/json; charset=utf-8"), Some(Media::Json));
        assert_eq!(Media::of("text/html"), None);
    }
}
