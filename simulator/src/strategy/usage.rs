//! Amounts by resource name: usage of objects, and limits of quotas.

use std::{collections::BTreeMap, iter::Sum};

use serde_json::Value;

use crate::api::{
    Object, meta,
    quantity::{Format, Quantity},
};

/// Amounts by resource name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Usage(pub(crate) BTreeMap<String, Quantity>);

impl Usage {
    /// Returns an amount of 1 of `name`.
    pub(crate) fn one(name: &str) -> Self {
        Self(BTreeMap::from([(name.to_owned(), Quantity::new(1, Format::DecimalSi))]))
    }

    /// Reads the amounts in the map at `path` of `object`. Amounts that do not parse are skipped.
    pub(crate) fn read(object: &Object, path: &str) -> Self {
        let amounts = meta::lookup(object, path)
            .and_then(Value::as_object)
            .into_iter()
            .flatten();
        Self(
            amounts
                .filter_map(|(name, amount)| Some((name.clone(), amount.as_str()?.parse().ok()?)))
                .collect(),
        )
    }

    /// Adds `amount` to that of `name`.
    pub(crate) fn add(&mut self, name: &str, amount: Quantity) {
        let total = self.0.get(name).map_or(amount, |before| before.plus(amount));
        self.0.insert(name.to_owned(), total);
    }

    /// Subtracts `other`. Amounts may become negative.
    pub(crate) fn without(mut self, other: &Self) -> Self {
        for (name, amount) in &other.0 {
            let left = self.0.get(name).copied().unwrap_or_default().minus(*amount);
            self.0.insert(name.clone(), left);
        }
        self
    }

    /// Whether every amount is zero.
    pub(crate) fn is_zero(&self) -> bool {
        self.0.values().all(|amount| amount.sign() == 0)
    }

    /// Encodes the amounts as JSON.
    pub(crate) fn to_object(&self) -> Object {
        let amounts = self.0.iter();
        amounts
            .map(|(name, amount)| (name.clone(), amount.to_string().into()))
            .collect()
    }
}

impl Sum for Usage {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        let mut total = Self::default();
        for (name, amount) in all.flat_map(|usage| usage.0) {
            total.add(&name, amount);
        }
        total
    }
}
