//! Names of locales.
//!
//! Source: `LocaleUtils.parse` of Elasticsearch 1.5, and Java's `Locale`.

use crate::error::{Result, SearchError};

/// Returns the name of a locale, as Java writes it: a language, a country and a variant. The name of the root is empty.
pub(crate) fn locale(given: &str) -> Result<String> {
    let parts: Vec<&str> = given.split('_').collect();
    let (language, country, variant) = match parts.as_slice() {
        [only] if only.eq_ignore_ascii_case("ROOT") => ("", "", ""),
        [language] => (*language, "", ""),
        [language, country] => (*language, *country, ""),
        [language, country, variant] => (*language, *country, *variant),
        _ => return Err(SearchError::illegal(format!("Can't parse locale: [{given}]"))),
    };
    let mut name = language.to_ascii_lowercase();
    if country.is_empty() && (variant.is_empty() || language.is_empty()) {
        return Ok(name);
    }
    name = format!("{name}_{}", country.to_ascii_uppercase());
    Ok(match variant {
        "" => name,
        variant => format!("{name}_{variant}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("ROOT", "")]
    #[case("DE_de", "de_DE")]
    #[case("EN_us_Posix", "en_US_Posix")]
    #[case("en__x", "en__x")]
    #[case("_x", "_X")]
    #[case("__x", "")]
    fn locales_have_the_names_of_java(#[case] given: &str, #[case] name: &str) {
        assert_eq!(locale(given).unwrap(), name);
    }

    #[test]
    fn a_locale_has_three_parts_at_most() {
        let error = locale("a_b_c_d").unwrap_err();
        assert_eq!(error.reason, "Can't parse locale: [a_b_c_d]");
    }
}
