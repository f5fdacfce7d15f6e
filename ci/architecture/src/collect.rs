//! Collects the definitions, imports and names of a file.

use std::collections::BTreeMap;

use proc_macro2::{TokenStream, TokenTree};
use syn::{
    Attribute, Item, UseTree, Visibility,
    visit::{self, Visit},
};

use crate::module::{Literal, Module};

/// Whether an item is compiled for tests only.
fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute
                .parse_args::<syn::Path>()
                .is_ok_and(|condition| condition.is_ident("test"))
    })
}

/// Returns the attributes of an item, and its name if it has one.
fn named(item: &Item) -> (&[Attribute], Option<&syn::Ident>) {
    match item {
        Item::Const(item) => (&item.attrs, Some(&item.ident)),
        Item::Enum(item) => (&item.attrs, Some(&item.ident)),
        Item::Fn(item) => (&item.attrs, Some(&item.sig.ident)),
        Item::Macro(item) => (&item.attrs, item.ident.as_ref()),
        Item::Mod(item) => (&item.attrs, None),
        Item::Static(item) => (&item.attrs, Some(&item.ident)),
        Item::Struct(item) => (&item.attrs, Some(&item.ident)),
        Item::Trait(item) => (&item.attrs, Some(&item.ident)),
        Item::Type(item) => (&item.attrs, Some(&item.ident)),
        Item::Union(item) => (&item.attrs, Some(&item.ident)),
        Item::Impl(item) => (&item.attrs, None),
        Item::Use(item) => (&item.attrs, None),
        _ => (&[], None),
    }
}

/// Fills a module from the items of its file.
pub(crate) struct Collector<'a> {
    pub(crate) module: &'a mut Module,
    /// Names of modules that the file declares for tests only.
    pub(crate) test_modules: &'a mut Vec<String>,
    /// Path of the inline modules around the current item.
    pub(crate) inside: Vec<String>,
    /// Whether the current import is a re-export.
    pub(crate) is_re_export: bool,
}

impl Collector<'_> {
    fn name(&mut self, segments: Vec<String>) {
        self.module.names.push(segments);
    }

    fn import(&mut self, tree: &UseTree, prefix: &[String]) {
        match tree {
            UseTree::Path(path) => {
                let prefix = [prefix, &[path.ident.to_string()]].concat();
                self.import(&path.tree, &prefix);
            }
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.import(tree, prefix)),
            UseTree::Glob(_) => self.module.globs.push(prefix.to_vec()),
            UseTree::Name(name) if name.ident == "self" => {
                let last = prefix.last().cloned().unwrap_or_default();
                self.imported(last, prefix.to_vec());
            }
            UseTree::Name(name) => {
                let name = name.ident.to_string();
                self.imported(name.clone(), [prefix, &[name]].concat());
            }
            UseTree::Rename(rename) => {
                let path = [prefix, &[rename.ident.to_string()]].concat();
                self.imported(rename.rename.to_string(), path);
            }
        }
    }

    fn imported(&mut self, alias: String, path: Vec<String>) {
        self.module.imports.insert(alias, path.clone());
        // A re-exported name is a dependency of the modules that use it, not of this one.
        if !self.is_re_export {
            self.name(path);
        }
    }

    /// Collects the paths and literals among the tokens of a macro call.
    fn tokens(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            at += 1;
            match token {
                TokenTree::Group(group) => self.tokens(group.stream()),
                TokenTree::Literal(literal) => {
                    if let Ok(text) = syn::parse_str::<syn::LitStr>(&literal.to_string()) {
                        self.literal(text.value(), literal.span().start().line);
                    }
                }
                TokenTree::Ident(first) => {
                    let mut path = vec![first.to_string()];
                    while let [TokenTree::Punct(a), TokenTree::Punct(b), TokenTree::Ident(next), ..] = &tokens[at..]
                        && a.as_char() == ':'
                        && b.as_char() == ':'
                    {
                        path.push(next.to_string());
                        at += 3;
                    }
                    if path.len() > 1 {
                        self.name(path);
                    }
                }
                TokenTree::Punct(_) => {}
            }
        }
    }

    fn literal(&mut self, text: String, line: usize) {
        self.module.literals.push(Literal { line, text });
    }
}

impl<'ast> Visit<'ast> for Collector<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        let (attributes, name) = named(item);
        if is_for_tests(attributes) {
            if let Item::Mod(module) = item
                && module.content.is_none()
            {
                self.test_modules.push(module.ident.to_string());
            }
            return;
        }
        if let Some(name) = name
            && self.inside.is_empty()
        {
            self.module.definitions.insert(name.to_string());
        }
        visit::visit_item(self, item);
    }

    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if module.content.is_some() {
            self.module.definitions.insert(module.ident.to_string());
            self.inside.push(module.ident.to_string());
            visit::visit_item_mod(self, module);
            self.inside.pop();
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.is_re_export = !matches!(item.vis, Visibility::Inherited);
        // In an inline module `super` is the module of the file: its imports are not those of the file.
        let mut collected = BTreeMap::new();
        std::mem::swap(&mut collected, &mut self.module.imports);
        self.import(&item.tree, &[]);
        if self.inside.is_empty() {
            collected.append(&mut self.module.imports);
        }
        self.module.imports = collected;
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.name(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.tokens(call.tokens.clone());
        visit::visit_macro(self, call);
    }

    fn visit_lit_str(&mut self, literal: &'ast syn::LitStr) {
        self.literal(literal.value(), literal.span().start().line);
    }

    fn visit_visibility(&mut self, _: &'ast Visibility) {
        // A visibility such as `pub(super)` is not a dependency.
    }

    fn visit_attribute(&mut self, _: &'ast Attribute) {
        // Documentation and lint reasons are not code.
    }
}
