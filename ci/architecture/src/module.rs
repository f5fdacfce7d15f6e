//! The modules of a crate, and the resolution of names to the files that define them.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use syn::visit::Visit;

use crate::{Graph, StructureError, collect::Collector};

/// A string literal in the code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Literal {
    /// Line, starting at 1.
    pub line: usize,
    /// Its value.
    pub text: String,
}

/// One file of a crate.
#[derive(Clone, Debug, Default)]
pub struct Module {
    /// Path of the file within `src`, with slashes.
    pub file: String,
    /// Number of lines, including tests.
    pub lines: usize,
    /// String literals of the code, without attributes and tests.
    pub literals: Vec<Literal>,
    /// Path of the module; empty for the root of the crate.
    pub(crate) path: Vec<String>,
    pub(crate) definitions: BTreeSet<String>,
    /// Paths of the names that `use` imports.
    pub(crate) imports: BTreeMap<String, Vec<String>>,
    pub(crate) globs: Vec<Vec<String>>,
    /// All paths in the code.
    pub(crate) names: Vec<Vec<String>>,
}

/// The code of a crate, without its tests.
#[derive(Clone, Debug)]
pub struct Crate {
    modules: BTreeMap<Vec<String>, Module>,
}

/// Maximum number of re-exports between a name and its definition.
const MAX_RE_EXPORTS: usize = 16;

impl Crate {
    /// Reads the crate in `folder`.
    ///
    /// # Errors
    /// If a file cannot be read or parsed.
    pub fn read(folder: &Path) -> Result<Self, StructureError> {
        let src = folder.join("src");
        let mut modules = BTreeMap::new();
        let mut for_tests = Vec::new();
        for entry in walkdir::WalkDir::new(&src).sort_by_file_name() {
            let path = match entry {
                Ok(entry) => entry.into_path(),
                Err(error) => {
                    let path = error.path().map_or_else(|| src.clone(), Path::to_path_buf);
                    return Err(StructureError::Read {
                        path,
                        source: error.into(),
                    });
                }
            };
            if path.extension().is_some_and(|extension| extension == "rs") {
                let file = path.strip_prefix(&src).unwrap_or(&path).to_path_buf();
                let text = fs::read_to_string(&path).map_err(|source| StructureError::Read {
                    path: path.clone(),
                    source,
                })?;
                let (module, tests) = parse(&file, &text).map_err(|source| StructureError::Parse { path, source })?;
                for_tests.extend(tests.into_iter().map(|name| [module.path.as_slice(), &[name]].concat()));
                modules.insert(module.path.clone(), module);
            }
        }
        modules.retain(|path, _| !for_tests.iter().any(|tests| path.starts_with(tests)));
        Ok(Self { modules })
    }

    /// Returns its modules.
    pub fn modules(&self) -> impl Iterator<Item = &Module> {
        self.modules.values()
    }

    /// Returns the first segment of every path, with the file: a crate, a module or a local name.
    pub fn outside(&self) -> impl Iterator<Item = (&str, &str)> {
        self.modules.values().flat_map(|module| {
            let names = module.names.iter().filter_map(|name| name.first());
            names.map(|first| (module.file.as_str(), first.as_str()))
        })
    }

    /// Returns the dependencies between files. Those between a module and its submodules are left out.
    pub fn graph(&self) -> Graph {
        let mut graph = Graph::default();
        for module in self.modules.values() {
            graph.add(&module.file);
            for name in &module.names {
                if let Some(other) = self.resolve(module, name, MAX_RE_EXPORTS)
                    && !other.path.starts_with(&module.path)
                    && !module.path.starts_with(&other.path)
                {
                    graph.add_dependency(&module.file, &other.file, &name.join("::"));
                }
            }
        }
        graph
    }

    /// Returns the module that defines `name` as seen in `module`. `None` if it is local or in another crate.
    fn resolve(&self, module: &Module, name: &[String], re_exports: usize) -> Option<&Module> {
        let first = name.first()?.as_str();
        match first {
            "crate" => self.descend(self.modules.get(&Vec::new())?, &name[1..], re_exports),
            "self" => self.descend(self.modules.get(&module.path)?, &name[1..], re_exports),
            "super" => {
                let parent = module.path.split_last().map(|(_, parent)| parent.to_vec())?;
                let rest = &name[1..];
                match rest.first().map(String::as_str) {
                    Some("super") => self.resolve(self.modules.get(&parent)?, rest, re_exports),
                    _ => self.descend(self.modules.get(&parent)?, rest, re_exports),
                }
            }
            _ => {
                let here = self.modules.get(&module.path)?;
                let child = [module.path.as_slice(), &[first.to_owned()]].concat();
                let known = here.definitions.contains(first)
                    || here.imports.contains_key(first)
                    || self.modules.contains_key(&child);
                if known {
                    // Imported names are counted at the import.
                    return match here.imports.contains_key(first) {
                        true => None,
                        false => self.descend(here, name, re_exports),
                    };
                }
                here.globs
                    .iter()
                    .filter_map(|glob| {
                        self.resolve(module, &[glob.as_slice(), name].concat(), re_exports.checked_sub(1)?)
                    })
                    .next()
            }
        }
    }

    /// Resolves a path downwards from a module, through its re-exports.
    fn descend<'a>(&'a self, module: &'a Module, path: &[String], re_exports: usize) -> Option<&'a Module> {
        let Some((first, rest)) = path.split_first() else {
            return Some(module);
        };
        let child = [module.path.as_slice(), std::slice::from_ref(first)].concat();
        if let Some(child) = self.modules.get(&child) {
            return self.descend(child, rest, re_exports);
        }
        if module.definitions.contains(first) {
            return Some(module);
        }
        let re_exports = re_exports.checked_sub(1)?;
        if let Some(import) = module.imports.get(first) {
            let whole = [import.as_slice(), rest].concat();
            return self.follow(module, &whole, re_exports);
        }
        let through = |glob: &Vec<String>| self.follow(module, &[glob.as_slice(), path].concat(), re_exports);
        module.globs.iter().find_map(through)
    }

    /// Resolves the path of an import of `module`.
    fn follow(&self, module: &Module, path: &[String], re_exports: usize) -> Option<&Module> {
        match path.first().map(String::as_str) {
            Some("crate" | "self" | "super") => self.resolve(module, path, re_exports),
            Some(first) => {
                let child = [module.path.as_slice(), &[first.to_owned()]].concat();
                let from = self.modules.get(&child)?;
                self.descend(from, &path[1..], re_exports)
            }
            None => None,
        }
    }
}

/// Parses one file. Returns its module, and the names of the modules that it declares for tests.
fn parse(file: &Path, text: &str) -> syn::Result<(Module, Vec<String>)> {
    let parsed = syn::parse_file(text)?;
    let mut module = Module {
        file: slashes(file),
        path: module_path(file),
        lines: text.lines().count(),
        ..Module::default()
    };
    let mut tests = Vec::new();
    Collector {
        module: &mut module,
        test_modules: &mut tests,
        inside: Vec::new(),
        is_re_export: false,
    }
    .visit_file(&parsed);
    Ok((module, tests))
}

fn slashes(file: &Path) -> String {
    let parts: Vec<_> = file.iter().map(|part| part.to_string_lossy()).collect();
    parts.join("/")
}

fn module_path(file: &Path) -> Vec<String> {
    let whole: PathBuf = file.with_extension("");
    let mut path: Vec<String> = whole.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    if path
        .last()
        .is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str()))
    {
        path.pop();
    }
    path
}
