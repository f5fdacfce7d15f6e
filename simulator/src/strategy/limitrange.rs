//! Limit ranges.

use std::collections::BTreeSet;

use super::generic::Strategy;
use super::resource_name::ResourceName;
use super::validate::cursor::{Cursor, Errors};
use super::validate::internal_form::amount;
use super::validate::name::{self, NameRule};
use super::validate::{metadata, resources};
use crate::api::quantity::{Format, Quantity};
use crate::api::{FieldError, Object, meta};
use crate::rng::Rng;

/// Resource of limit ranges.
pub(crate) const RESOURCE: ResourceName = ResourceName::core("limitranges");

/// Strategy of limit ranges.
pub(super) struct LimitRangeStrategy;

impl Strategy for LimitRangeStrategy {
    fn validate_update(&self, new: &Cursor, _: &Cursor, group: &str, errors: &mut Errors) {
        self.validate(new, group, errors);
    }

    fn prepare_for_create(&self, range: &mut Object, rng: &Rng) {
        if meta::text(range, "metadata.name").is_empty() {
            meta::set(range, "name", &rng.uid());
        }
    }

    fn validate(&self, range: &Cursor, _: &str, errors: &mut Errors) {
        metadata::create(&range.at("metadata"), true, NameRule::DnsSubdomain, errors);
        let mut types = BTreeSet::new();
        for limit in range.at("spec").at("limits").items() {
            let kind = limit.at("type");
            limit_type(&kind, errors);
            if !types.insert(kind.text()) {
                errors.push(FieldError::duplicate(kind.path(), kind.text()));
            }
            item(&limit, errors);
        }
    }
}

fn limit_type(at: &Cursor, errors: &mut Errors) {
    let text = at.text();
    if let Err(want) = name::qualified_name(text) {
        errors.push(at.invalid(text, want));
    } else if !text.contains('/') && !["Pod", "Container"].contains(&text) {
        errors.push(at.invalid(text, "must be a standard limit type or fully qualified"));
    }
}

fn item(limit: &Cursor, errors: &mut Errors) {
    let is_pod = limit.at("type").text() == "Pod";
    let mut seen = BTreeSet::new();
    for field in ["max", "min", "default", "defaultRequest", "maxLimitRequestRatio"] {
        let at = limit.at(field);
        if is_pod && field.starts_with("default") {
            if !at.is_empty() {
                errors.push(at.forbidden("may not be specified when `type` is 'Pod'"));
            }
            continue;
        }
        for (resource, entry) in at.entries() {
            if ["Pod", "Container"].contains(&limit.at("type").text()) {
                resources::container_resource_name(&entry, resource, errors);
            } else {
                resources::resource_name(&entry, resource, errors);
            }
            seen.insert(resource);
        }
    }
    seen.into_iter()
        .for_each(|resource| bounds(limit, resource, is_pod, errors));
}

/// Requires the bounds that `limit` sets for `resource` to be in ascending order.
fn bounds(limit: &Cursor, resource: &str, is_pod: bool, errors: &mut Errors) {
    let bound = |field: &'static str| limit.at(field).member(resource).map(amount);
    let (min, max) = (bound("min"), bound("max"));
    let default = bound("default").filter(|_| !is_pod);
    let request = bound("defaultRequest").filter(|_| !is_pod);
    let ratio = bound("maxLimitRequestRatio");
    // Reported field, shown value, and the two values that must be in order, with their names.
    let orders = [
        ("min", min, ("min value", min), ("max value", max)),
        (
            "defaultRequest",
            request,
            ("min value", min),
            ("default request value", request),
        ),
        (
            "defaultRequest",
            request,
            ("default request value", request),
            ("max value", max),
        ),
        (
            "defaultRequest",
            request,
            ("default request value", request),
            ("default limit value", default),
        ),
        ("default", min, ("min value", min), ("default value", default)),
        ("default", max, ("default value", default), ("max value", max)),
    ];
    for (field, shown, (low_name, low), (high_name, high)) in orders {
        if let (Some(shown), Some(low), Some(high)) = (shown, low, high)
            && low > high
        {
            let text = format!("{low_name} {low} is greater than {high_name} {high}");
            errors.push(FieldError::invalid(
                &limit.at(field).path().key(resource),
                shown.to_string(),
                text,
            ));
        }
    }
    let Some(ratio) = ratio else { return };
    let path = limit.at("maxLimitRequestRatio").path().key(resource);
    if ratio < Quantity::new(1, Format::DecimalSi) {
        errors.push(FieldError::invalid(
            &path,
            ratio.to_string(),
            format!("ratio {ratio} is less than 1"),
        ));
    }
    if let (Some(min), Some(max)) = (min, max) {
        let (ratio_value, most) = ratios(ratio, min, max);
        if ratio_value > most {
            let most = if most.is_infinite() {
                "-Inf".to_owned()
            } else {
                format!("{most:.6}")
            };
            errors.push(FieldError::invalid(
                &path,
                ratio.to_string(),
                format!("ratio {ratio} is greater than max/min = {most}"),
            ));
        }
    }
}

/// Returns `ratio` and `max / min`: in thousandths if they are small enough, else in units.
fn ratios(ratio: Quantity, min: Quantity, max: Quantity) -> (f64, f64) {
    const MAX_MILLI: i64 = i64::MAX / 1000;
    if [ratio, min, max].iter().all(|q| q.value() < MAX_MILLI) {
        (
            ratio.milli_value() as f64 / 1000.0,
            max.milli_value() as f64 / min.milli_value() as f64,
        )
    } else {
        (ratio.value() as f64, max.value() as f64 / min.value() as f64)
    }
}
