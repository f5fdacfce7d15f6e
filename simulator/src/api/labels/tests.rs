use proptest::prelude::*;
use rstest::rstest;
use serde_json::json;

use super::*;
use crate::api::Pairs;

fn labels(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
}

#[rstest]
#[case("", true)]
#[case("app=web", true)]
#[case("app==db", false)]
#[case("app!=web", false)]
#[case("absent!=web", true)]
#[case("app", true)]
#[case("!app", false)]
#[case("!absent", true)]
#[case("app in (web,db)", true)]
#[case("app notin (web)", false)]
#[case("absent notin (web)", true)]
#[case("app in (web), tier=front", true)]
#[case("app=", false)]
#[case("app!=", true)]
#[case("app in ()", false)]
#[case(" app = web ", true)]
#[case("app in ( web , db )", true)]
#[case("tier=front,tier=back", false)]
#[case("example.com/role=a", true)]
#[case("n>5", true)]
#[case("n<5", false)]
#[case("n>5.5e0", true)]
#[case("app>5", false)]
#[case("absent>5", false)]
#[case("in=x", true)]
#[case("in in (in,x)", true)]
#[case("notin", false)]
fn a_selector_matches_by_its_requirements(#[case] selector: &str, #[case] expected: bool) {
    let labels = labels(&[
        ("app", "web"),
        ("tier", "front"),
        ("example.com/role", "a"),
        ("n", "7"),
        ("in", "x"),
    ]);
    assert_eq!(Selector::parse(selector).unwrap().matches(&labels), expected);
}

#[rstest]
#[case(",", "found ',', expected: !, identifier, or 'end of string'")]
#[case("=x", "found '=', expected: !, identifier, or 'end of string'")]
#[case("(a)", "found '(', expected: !, identifier, or 'end of string'")]
#[case("a=b=c", "found '=', expected: ',' or 'end of string'")]
#[case("a=bad value", "found 'value', expected: ',' or 'end of string'")]
#[case("!a=b", "found '=', expected: ',' or 'end of string'")]
#[case("a in x", "unable to parse requirement: found 'x' expected: '('")]
#[case("a notin", "unable to parse requirement: found '' expected: '('")]
#[case("a in (x", "unable to parse requirement: found '', expected: ',' or ')'")]
#[case("a in (x,", "unable to parse requirement: found '', expected: ',', or identifier")]
#[case("a in (,,)", "unable to parse requirement: found ')', expected: ',', or identifier")]
#[case(
    "a in (=",
    "unable to parse requirement: found '=', expected: ',', ')' or identifier"
)]
#[case("!", "unable to parse requirement: found '', expected: identifier")]
#[case("!,", "unable to parse requirement: found ',', expected: identifier")]
#[case("a===b", "unable to parse requirement: found '=', expected: identifier")]
#[case(
    "a b",
    "unable to parse requirement: found 'b', expected: '=', '!=', '==', 'in', notin'"
)]
#[case(
    "in (x)",
    "unable to parse requirement: found '(', expected: '=', '!=', '==', 'in', notin'"
)]
#[case(
    "bad key!=x",
    "unable to parse requirement: found 'key', expected: '=', '!=', '==', 'in', notin'"
)]
#[case("app=web,,", "found ',', expected: identifier after ','")]
#[case("app=web,", "found '', expected: identifier after ','")]
#[case(
    "a>b",
    "unable to parse requirement: for 'Gt', 'Lt' operators, the value must be a number"
)]
#[case(
    "a>",
    "unable to parse requirement: for 'Gt', 'Lt' operators, the value must be a number"
)]
#[case(
    "a>1e999",
    "unable to parse requirement: for 'Gt', 'Lt' operators, the value must be a number"
)]
fn invalid_selectors_have_the_recorded_errors(#[case] selector: &str, #[case] error: &str) {
    assert_eq!(Selector::parse(selector), Err(error.to_owned()));
}

#[test]
fn keys_and_values_are_validated() {
    let error = |text: &str| Selector::parse(text).unwrap_err();
    for key in ["-a=b", "a/b/c=d", "/a=b", "A.b/a=b", "é=b", "a_-"] {
        assert_eq!(
            error(key),
            format!("unable to parse requirement: invalid label key: {QUALIFIED_NAME}"),
            "{key}"
        );
    }
    for value in ["a=-b", "a=b/c", "a=é"] {
        assert_eq!(
            error(value),
            format!("unable to parse requirement: invalid label value: {LABEL_VALUE}"),
            "{value}"
        );
    }
    assert!(Selector::parse(&format!("{}=b", "a".repeat(64))).is_err());
    assert!(Selector::parse(&format!("{}/{}=b", "p".repeat(253), "a".repeat(63))).is_ok());
}

#[rstest]
#[case("b,a=1", "a=1,b")]
#[case(" x in (b, a ,b) ", "x in (a,b)")]
#[case("x in (,a)", "x in (,a)")]
#[case("x in (a,,b)", "x in (,a,b)")]
#[case("x notin ()", "x notin ()")]
#[case("!a,b==c,d!=e,f>1,g<2", "!a,b==c,d!=e,f>1,g<2")]
fn a_selector_has_one_normal_form(#[case] text: &str, #[case] normal: &str) {
    assert_eq!(Selector::parse(text).unwrap().to_string(), normal);
}

#[test]
fn pairs_are_looked_up_by_name() {
    let pairs: Pairs = [("app", "web"), ("tier", "")].into_iter().collect();
    assert_eq!(
        (pairs.value("app"), pairs.value("tier"), pairs.value("b")),
        (Some("web"), Some(""), None)
    );
    assert!(Selector::parse("app=web,tier=,!b").unwrap().matches(&pairs));
}

#[test]
fn a_label_selector_selects_by_labels_and_expressions() {
    let selector = json!({"matchLabels": {"app": "web"}, "matchExpressions": [
        {"key": "tier", "operator": "In", "values": ["b", "a"]}, {"key": "x", "operator": "DoesNotExist"}]});
    let selector = Selector::from_label_selector(&selector).unwrap();
    assert_eq!(selector.to_string(), "app=web,tier in (a,b),!x");
    assert!(selector.matches(&labels(&[("app", "web"), ("tier", "a")])));
    assert!(!selector.matches(&labels(&[("app", "web"), ("tier", "a"), ("x", "")])));
    let wrong = json!({"matchExpressions": [{"key": "a", "operator": "Near"}]});
    assert_eq!(
        Selector::from_label_selector(&wrong),
        Err("\"Near\" is not a valid pod selector operator".to_owned())
    );
    let empty_set = json!({"matchExpressions": [{"key": "a", "operator": "In"}]});
    assert_eq!(
        Selector::from_label_selector(&empty_set),
        Err("for 'in', 'notin' operators, values set can't be empty".to_owned())
    );
}

#[test]
fn a_missing_label_selector_selects_nothing_and_an_empty_one_everything() {
    let none = Selector::from_label_selector(&Value::Null).unwrap();
    assert!(!none.matches(&labels(&[])) && !none.is_everything());
    let all = Selector::from_label_selector(&json!({})).unwrap();
    assert!(all.matches(&labels(&[("a", "b")])) && all.is_everything());
    let map = json!({"b": "1", "a": "2"});
    assert_eq!(Selector::from_map(map.as_object().unwrap()).to_string(), "a=2,b=1");
}

proptest! {
    #[test]
    fn no_text_panics(text in "[ab=!(),<> \\x00é.inot]{0,24}") {
        let _ = Selector::parse(&text);
    }

    #[test]
    fn the_normal_form_round_trips(text in "(!?[ab]|[ab](=|==|!=)[xy]?|[ab](>|<)[0-9]{1,3}|[ab] (in|notin) \
        \\([xy]?(,[xy]?){0,3}\\))(,(!?[cd]|[cd](=|!=)[xy]?)){0,2}") {
        prop_assume!(!text.contains(",,)"));
        let selector = Selector::parse(&text).unwrap();
        prop_assert_eq!(Selector::parse(&selector.to_string()), Ok(selector));
    }
}
