//! Images as data: what their containers run, write and serve.
//!
//! - `fixtures/images` has the images that are known; `serve --image` and [`Builder::image`](crate::Builder::image) add more, which come first.
//! - A container of any other image runs the shell's commands; whatever else it is to run is assumed to go on until it is stopped.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, LazyLock},
};

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::behaviour::Behaviour;
use crate::compat::yaml;

/// What is known of an image.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ImageData {
    /// Names, with `*` for any text; one without a tag means all its tags.
    images: Vec<String>,
    /// Whether it cannot be pulled.
    #[serde(default)]
    pub(crate) absent: bool,
    /// What runs where the container has no `command`.
    #[serde(default)]
    pub(crate) entrypoint: Vec<String>,
    /// Arguments where the container has neither `command` nor `args`.
    #[serde(default)]
    pub(crate) command: Vec<String>,
    /// Whether there are a shell and its commands.
    #[serde(default = "yes")]
    pub(crate) shell: bool,
    /// Environment variables.
    #[serde(default)]
    pub(crate) environment: BTreeMap<String, String>,
    /// Working directory.
    #[serde(default)]
    pub(crate) directory: String,
    /// Files, by path.
    #[serde(default)]
    pub(crate) files: BTreeMap<String, String>,
    /// Programs, by name or path.
    #[serde(default, deserialize_with = "shared_values")]
    pub(crate) programs: BTreeMap<String, Arc<ProgramData>>,
}

fn shared<'de, D: Deserializer<'de>, T: Deserialize<'de>>(data: D) -> Result<Arc<T>, D::Error> {
    T::deserialize(data).map(Arc::new)
}

fn shared_values<'de, D: Deserializer<'de>>(data: D) -> Result<BTreeMap<String, Arc<ProgramData>>, D::Error> {
    let programs = BTreeMap::<String, ProgramData>::deserialize(data)?;
    Ok(programs
        .into_iter()
        .map(|(name, data)| (name, Arc::new(data)))
        .collect())
}

fn yes() -> bool {
    true
}

/// What a program does: its script runs, its output is written in its time, and its servers serve until it ends.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ProgramData {
    /// A shell script with the program's arguments. The program ends with it, unless it serves or has an `exit`.
    #[serde(default)]
    pub(crate) script: Option<String>,
    /// What it writes.
    #[serde(default)]
    pub(crate) output: Vec<OutputData>,
    /// When it ends; with its script, or never, where this is absent.
    #[serde(default)]
    pub(crate) exit: Option<ExitData>,
    /// What it serves.
    #[serde(default)]
    pub(crate) serves: Vec<ServerData>,
}

/// A text that is written.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct OutputData {
    /// Seconds after the start.
    #[serde(default)]
    pub(crate) after: f64,
    /// The text; `{hostname}` and the like are replaced.
    pub(crate) text: String,
    /// Whether it goes to standard error.
    #[serde(default)]
    pub(crate) stderr: bool,
}

/// The end of a program.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ExitData {
    /// Seconds after the start.
    #[serde(default)]
    pub(crate) after: f64,
    /// Exit code.
    #[serde(default)]
    pub(crate) code: i32,
}

/// An HTTP server.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ServerData {
    /// Port.
    #[serde(default)]
    pub(crate) port: u16,
    /// Flag of the program that says another port, as `--port=80` or `--port 80`.
    #[serde(default)]
    pub(crate) port_flag: Option<String>,
    /// Prefix of environment variables: each that has a number after it is a port, with a `{value}` to serve.
    #[serde(default)]
    pub(crate) port_environment: Option<String>,
    /// Whether each request is logged as nginx does.
    #[serde(default)]
    pub(crate) access_log: bool,
    /// Responses, of which the first that fits is sent; 404 if none does.
    #[serde(deserialize_with = "shared")]
    pub(crate) routes: Arc<Vec<RouteData>>,
}

/// A response.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct RouteData {
    /// Method; any if absent.
    #[serde(default)]
    pub(crate) method: Option<String>,
    /// Path; one that ends with `*` matches all that begin with it.
    pub(crate) path: String,
    /// Seconds after the program's start from which on it is sent.
    #[serde(default)]
    pub(crate) from: f64,
    /// Seconds after the program's start until which it is sent.
    #[serde(default)]
    pub(crate) until: Option<f64>,
    /// Status code.
    #[serde(default = "ok")]
    pub(crate) status: u16,
    /// Media type.
    #[serde(default = "plain")]
    pub(crate) content_type: String,
    /// Body; `{path}` and the like are replaced.
    #[serde(default)]
    pub(crate) body: String,
    /// Directory whose files are served in place of a body.
    #[serde(default)]
    pub(crate) root: Option<String>,
    /// Script whose output is the body.
    #[serde(default)]
    pub(crate) script: Option<String>,
}

fn ok() -> u16 {
    200
}

fn plain() -> String {
    "text/plain; charset=utf-8".to_owned()
}

/// An image that a container has.
#[derive(Clone)]
pub(crate) struct Image {
    /// What is known of it; `None` if it is not known.
    pub(crate) data: Option<Arc<ImageData>>,
    /// What a Rust program registered for it.
    pub(crate) behaviour: Option<Arc<dyn Behaviour>>,
}

/// Images that cannot be read.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the images of {file} make no sense: {reason}")]
pub struct ImageError {
    /// The file.
    pub file: String,
    /// Why.
    pub reason: String,
}

/// The images that are known.
#[derive(Clone, Default)]
pub(crate) struct Images {
    data: Vec<Arc<ImageData>>,
    behaviours: Vec<(String, Arc<dyn Behaviour>)>,
}

impl fmt::Debug for Images {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.data.iter().flat_map(|data| &data.images);
        f.debug_set()
            .entries(self.behaviours.iter().map(|(name, _)| name).chain(names))
            .finish()
    }
}

impl Images {
    /// The images of `fixtures/images`, which are parsed once in a process.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub(crate) fn known() -> Result<Self, ImageError> {
        static KNOWN: LazyLock<Result<Vec<Arc<ImageData>>, ImageError>> = LazyLock::new(fixtures);
        Ok(Self {
            data: KNOWN.clone()?,
            behaviours: Vec::new(),
        })
    }

    /// Adds the images of a YAML file, before those that are known.
    pub(crate) fn add(&mut self, file: &str, text: &str) -> Result<(), ImageError> {
        self.data.splice(..0, read(file, text)?);
        Ok(())
    }

    /// Lets the containers of an image run this, whatever else is known of it.
    pub(crate) fn register(&mut self, image: String, behaviour: Arc<dyn Behaviour>) {
        self.behaviours.insert(0, (image, behaviour));
    }

    /// The image of this name.
    pub(crate) fn find(&self, name: &str) -> Image {
        let fits = |pattern: &String| fits(pattern, name);
        Image {
            data: self.data.iter().find(|data| data.images.iter().any(fits)).cloned(),
            behaviour: self
                .behaviours
                .iter()
                .find(|(pattern, _)| fits(pattern))
                .map(|(_, behaviour)| behaviour.clone()),
        }
    }
}

fn fixtures() -> Result<Vec<Arc<ImageData>>, ImageError> {
    let mut images = Vec::new();
    let files = stuntdouble_fixtures::IMAGES.files();
    for file in files.filter(|file| file.path().extension().is_some_and(|ending| ending == "yaml")) {
        let text = file.contents_utf8().unwrap_or_default();
        images.extend(read(&file.path().display().to_string(), text)?);
    }
    Ok(images)
}

fn read(file: &str, text: &str) -> Result<Vec<Arc<ImageData>>, ImageError> {
    let error = |reason: String| ImageError {
        file: file.to_owned(),
        reason,
    };
    let value: Value = yaml::to_value(text.as_bytes()).map_err(|why| error(format!("{why:?}")))?;
    let images: Vec<ImageData> = serde_json::from_value(value).map_err(|why| error(why.to_string()))?;
    Ok(images.into_iter().map(Arc::new).collect())
}

/// The name without the default registry, and its tag.
fn split(name: &str) -> (&str, Option<&str>) {
    let name = name.strip_prefix("docker.io/").unwrap_or(name);
    let name = name.strip_prefix("library/").unwrap_or(name);
    match name.rsplit_once(':') {
        Some((repository, tag)) if !tag.contains('/') => (repository, Some(tag)),
        _ => (name, None),
    }
}

fn fits(pattern: &str, name: &str) -> bool {
    let ((repository, tag), (wanted, wanted_tag)) = (split(name), split(pattern));
    let tag_fits = wanted_tag.is_none_or(|wanted| matches(wanted, tag.unwrap_or("latest")));
    tag_fits && matches(wanted, repository)
}

/// Whether `text` fits a pattern with `*` for any text.
fn matches(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((start, rest)) => text
            .strip_prefix(start)
            .is_some_and(|text| (0..=text.len()).any(|at| text.get(at..).is_some_and(|text| matches(rest, text)))),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("nginx", "nginx:1.9", true)]
    #[case("nginx", "docker.io/library/nginx", true)]
    #[case("nginx:1.*", "nginx:1.9", true)]
    #[case("nginx:2", "nginx:1.9", false)]
    #[case("nginx:latest", "nginx", true)]
    #[case("nginx", "example.com/nginx", false)]
    #[case("*/nginx-*", "gcr.io:5000/google/nginx-slim:0.1", true)]
    fn a_pattern_stands_for_images(#[case] pattern: &str, #[case] name: &str, #[case] expected: bool) {
        assert_eq!(fits(pattern, name), expected);
    }

    #[test]
    fn the_images_of_the_fixtures_are_read_once_for_all_clusters() {
        let found = || Images::known().unwrap().find("nginx:1.9").data.unwrap();
        assert!(Arc::ptr_eq(&found(), &found()));
    }

    #[test]
    fn the_images_of_the_fixtures_are_read_and_added_ones_come_first() {
        let mut images = Images::known().unwrap();
        assert!(images.find("nginx:1.9").data.is_some_and(|data| !data.absent));
        images.add("mine", "[{images: ['nginx:*'], absent: true}]").unwrap();
        assert!(images.find("nginx:1.9").data.is_some_and(|data| data.absent));
        assert!(images.find("example.com/app").data.is_none());
        let error = images.add("mine", "[{images: [a], ports: 1}]").unwrap_err();
        assert!(error.to_string().contains("unknown field `ports`"), "{error}");
    }
}
