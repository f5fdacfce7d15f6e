//! The `_analyze` API.

use serde_json::{Value, json};

use crate::analysis::Analyzer;
use crate::cluster::Block;
use crate::error::{Result, SearchError};
use crate::rest::{Answer, RestRequest};
use crate::shared::Shared;

/// `GET|POST [/index]/_analyze`.
pub(crate) fn analyze(shared: &Shared, request: &RestRequest, index: Option<&str>) -> Result<Answer> {
    let text = match request.param("text") {
        Some(text) => text.to_owned(),
        None => {
            String::from_utf8(request.body.to_vec()).map_err(|_| SearchError::illegal("the text is not valid UTF-8"))?
        }
    };
    request.budget.text(&text)?;
    if request.param("text").is_none() && text.is_empty() {
        return Err(SearchError::illegal("text is missing"));
    }
    let named = index.map(|index| shared.cluster.single(index)).transpose()?;
    shared.cluster.check_blocks(named.as_slice(), Block::Read)?;
    let mapping = named.as_ref().map(|index| index.mapping());
    let settings = mapping.as_ref().and_then(|mapping| mapping.analysis());
    let field = request.param("field").and_then(|field| mapping.as_ref()?.field(field));
    match (request.param("field"), field) {
        (Some(_), _) if index.is_none() => {
            return Err(SearchError::illegal(
                "No index provided, and trying to analyzer based on a specific field which requires the index \
                 parameter",
            ));
        }
        (Some(name), Some(field)) if field.field_type.kind.is_numeric() => {
            return Err(SearchError::illegal(format!(
                "Can't process field [{name}], Analysis requests are not supported on numeric fields"
            )));
        }
        _ => {}
    }
    let list = |keys: [&str; 2]| {
        let text = keys.iter().find_map(|key| request.param(key));
        text.map(|text| text.split(',').collect::<Vec<_>>()).unwrap_or_default()
    };
    let filters = list(["filters", "token_filters"]);
    let chars = list(["char_filters", "char_filter"]);
    let analyzer = match (request.param("analyzer"), request.param("tokenizer"), field) {
        (Some(name), _, None) => Analyzer::configured(name, settings)
            .map_err(|_| SearchError::illegal(format!("failed to find analyzer [{name}]")))?,
        (_, Some(tokenizer), _) => {
            let (assembled, from, to) = match index {
                Some(_) => (
                    Analyzer::assembled(tokenizer, &filters, &chars, settings),
                    "failed to find char filter under",
                    "failed to find token char under",
                ),
                None => (
                    Analyzer::global(tokenizer, &filters, &chars),
                    "failed to find ",
                    "failed to find global ",
                ),
            };
            assembled.map_err(|error| SearchError {
                reason: error.reason.replace(from, to),
                ..error
            })?
        }
        (_, None, Some(field)) => field.index_analyzer.clone(),
        (None, None, None) => {
            let own = request.param("field").zip(mapping.as_ref());
            match own.and_then(|(name, mapping)| mapping.own_analyzer(name)) {
                Some(own) => own.clone(),
                None => {
                    let [default, ..] = Analyzer::defaults(settings)?;
                    default
                }
            }
        }
    };
    let mut tokens: Vec<Value> = Vec::new();
    let units = |end: usize| text.get(..end).map_or(0, |before| before.encode_utf16().count());
    analyzer.check()?;
    analyzer.analyze(&text, &mut |token| {
        let piece = text.get(token.start..token.end).unwrap_or("");
        tokens.push(json!({
            "token": token.text,
            "start_offset": units(token.start),
            "end_offset": units(token.end),
            "type": token.kind.unwrap_or_else(|| analyzer.token_type(piece)),
            "position": token.position + 1,
        }));
    });
    Ok(Answer::ok(json!({"tokens": tokens})))
}
