//! Rules for volumes of pods and for persistent volumes.

use std::collections::BTreeSet;

use super::cursor::{Cursor, Errors};
use super::{name, pod_field};
use crate::api::FieldError;

/// Type of volume.
struct Source {
    /// Field of the volume source.
    field: &'static str,
    /// Field that the source's own errors are reported under.
    reported_as: &'static str,
    /// Field and text of the error if another source precedes this one. `None` for no error.
    exclusive: Option<(&'static str, &'static str)>,
    /// Validation of the source.
    check: fn(&Cursor, &mut Errors),
}

const MULTIPLE_SOURCES: &str = "may not specify more than 1 volume type";
/// v1.2 misspells the text for some types.
const MULTIPLE_SOURCES_MISSPELT: &str = "may not specifiy more than 1 volume type";

const fn source(field: &'static str, check: fn(&Cursor, &mut Errors)) -> Source {
    Source {
        field,
        reported_as: field,
        exclusive: Some((field, MULTIPLE_SOURCES)),
        check,
    }
}

const GCE: Source = Source {
    reported_as: "persistentDisk",
    ..source("gcePersistentDisk", gce_persistent_disk)
};
const CEPHFS: Source = Source {
    exclusive: Some(("cephFS", MULTIPLE_SOURCES)),
    ..source("cephfs", monitors)
};
const AZURE_FILE: Source = Source {
    exclusive: None,
    ..source("azureFile", azure_file)
};

/// Volume sources of pods, in the order of validation.
const OF_PODS: [Source; 19] = [
    source("emptyDir", |_, _| {}),
    source("hostPath", host_path),
    source("gitRepo", git_repo),
    GCE,
    source("awsElasticBlockStore", aws_elastic_block_store),
    source("secret", |at, errors| at.at("secretName").require_text(errors)),
    source("nfs", nfs),
    source("iscsi", iscsi),
    source("glusterfs", glusterfs),
    source("flocker", flocker),
    source("persistentVolumeClaim", |at, errors| {
        at.at("claimName").require_text(errors)
    }),
    source("rbd", rbd),
    source("cinder", cinder),
    CEPHFS,
    Source {
        exclusive: Some(("downwarAPI", MULTIPLE_SOURCES)),
        ..source("downwardAPI", downward_api)
    },
    source("fc", fibre_channel),
    Source {
        exclusive: Some(("flexVolume", MULTIPLE_SOURCES_MISSPELT)),
        ..source("flexVolume", flex_volume)
    },
    Source {
        exclusive: Some(("configMap", MULTIPLE_SOURCES_MISSPELT)),
        ..source("configMap", |at, errors| at.at("name").require_text(errors))
    },
    AZURE_FILE,
];

/// Persistent volume sources, in the order of validation.
const PERSISTENT: [Source; 13] = [
    source("hostPath", host_path),
    GCE,
    source("awsElasticBlockStore", aws_elastic_block_store),
    source("glusterfs", glusterfs),
    source("flocker", flocker),
    source("nfs", nfs),
    source("rbd", rbd),
    CEPHFS,
    source("iscsi", iscsi),
    source("cinder", cinder),
    source("fc", fibre_channel),
    Source {
        exclusive: None,
        ..source("flexVolume", flex_volume)
    },
    AZURE_FILE,
];

/// Validates the volumes of a pod at `at`. Returns the names of those without errors.
pub(crate) fn of_pod<'a>(at: &Cursor<'a>, errors: &mut Errors) -> BTreeSet<&'a str> {
    let mut names = BTreeSet::new();
    for volume in at.items() {
        let mut faults = Errors::default();
        one_source(&volume, &OF_PODS, &mut faults);
        let own = volume.at("name");
        if own.text().is_empty() {
            faults.push(own.required(""));
        } else if let Err(want) = name::dns_label(own.text()) {
            faults.push(own.invalid(own.text(), want));
        } else if names.contains(own.text()) {
            faults.push(FieldError::duplicate(own.path(), own.text()));
        }
        if faults.is_empty() {
            names.insert(own.text());
        }
        errors.extend(faults);
    }
    names
}

/// Validates the source of the persistent volume whose specification is at `at`.
pub(crate) fn persistent(at: &Cursor, errors: &mut Errors) {
    one_source(at, &PERSISTENT, errors);
}

/// Requires exactly one of `sources` at `at`, and validates it.
fn one_source(at: &Cursor, sources: &[Source], errors: &mut Errors) {
    let mut count = 0;
    for source in sources {
        let found = at.at(source.field);
        if !found.is_set() {
            continue;
        }
        match source.exclusive {
            Some((field, wording)) if count > 0 => errors.push(at.at(field).forbidden(wording)),
            _ => {
                count += 1;
                (source.check)(&found.reported_at(at.path(), source.reported_as), errors);
            }
        }
    }
    if count == 0 {
        errors.push(at.required("must specify a volume type"));
    }
}

/// Requires non-empty strings in the fields `names` of `at`.
fn require(at: &Cursor, names: &[&'static str], errors: &mut Errors) {
    for name in names {
        at.at(name).require_text(errors);
    }
}

/// Requires a number from 0 to 255 at `at`. The error text says `low` to 255, as in v1.2.
fn small_number(at: &Cursor, low: u8, errors: &mut Errors) {
    let number = at.int();
    if !(0..=255).contains(&number) {
        errors.push(at.invalid(number, format!("must be between {low} and 255, inclusive")));
    }
}

fn host_path(at: &Cursor, errors: &mut Errors) {
    require(at, &["path"], errors);
}

fn git_repo(at: &Cursor, errors: &mut Errors) {
    require(at, &["repository"], errors);
    let directory = at.at("directory");
    path_inside(&directory, directory.text(), errors);
}

fn gce_persistent_disk(at: &Cursor, errors: &mut Errors) {
    require(at, &["pdName"], errors);
    small_number(&at.at("partition"), 1, errors);
}

fn aws_elastic_block_store(at: &Cursor, errors: &mut Errors) {
    require(at, &["volumeID"], errors);
    small_number(&at.at("partition"), 1, errors);
}

fn nfs(at: &Cursor, errors: &mut Errors) {
    require(at, &["server", "path"], errors);
    let path = at.at("path");
    if !path.text().starts_with('/') {
        errors.push(path.invalid(path.text(), "must be an absolute path"));
    }
}

fn iscsi(at: &Cursor, errors: &mut Errors) {
    require(at, &["targetPortal", "iqn"], errors);
    small_number(&at.at("lun"), 0, errors);
}

fn glusterfs(at: &Cursor, errors: &mut Errors) {
    require(at, &["endpoints", "path"], errors);
}

fn flocker(at: &Cursor, errors: &mut Errors) {
    require(at, &["datasetName"], errors);
    let dataset = at.at("datasetName");
    if dataset.text().contains('/') {
        errors.push(dataset.invalid(dataset.text(), "must not contain '/'"));
    }
}

fn rbd(at: &Cursor, errors: &mut Errors) {
    monitors(at, errors);
    require(at, &["image"], errors);
}

fn monitors(at: &Cursor, errors: &mut Errors) {
    let monitors = at.at("monitors");
    if monitors.is_empty() {
        errors.push(monitors.required(""));
    }
}

fn cinder(at: &Cursor, errors: &mut Errors) {
    require(at, &["volumeID"], errors);
}

/// As in v1.2, errors of any item are reported at the volume, without the item's index.
fn downward_api(at: &Cursor, errors: &mut Errors) {
    for item in at.at("items").items() {
        let path = item.at("path").reported_at(at.path(), "path");
        path.require_text(errors);
        path_inside(&path, path.text(), errors);
        pod_field::reference(
            &item.at("fieldRef").reported_at(at.path(), "fieldRef"),
            pod_field::OF_VOLUMES,
            errors,
        );
    }
}

fn fibre_channel(at: &Cursor, errors: &mut Errors) {
    let (names, lun) = (at.at("targetWWNs"), at.at("lun"));
    if names.is_empty() {
        errors.push(names.required(""));
    }
    if lun.is_set() {
        small_number(&lun, 0, errors);
    } else {
        errors.push(lun.required(""));
    }
}

fn flex_volume(at: &Cursor, errors: &mut Errors) {
    require(at, &["driver"], errors);
}

fn azure_file(at: &Cursor, errors: &mut Errors) {
    require(at, &["secretName", "shareName"], errors);
}

/// Requires `path` not to leave the directory that it is relative to.
fn path_inside(at: &Cursor, path: &str, errors: &mut Errors) {
    if path.starts_with('/') {
        errors.push(at.invalid(path, "must be a relative path"));
    }
    for _ in path.split('/').filter(|part| *part == "..") {
        errors.push(at.invalid(path, "must not contain '..'"));
    }
    let first = path.split('/').next().unwrap_or_default();
    if first.starts_with("..") && first.len() > 2 {
        errors.push(at.invalid(path, "must not start with '..'"));
    }
}

/// Requires disks that only one machine can write to be mounted read-only, among the volumes at `at`.
pub(crate) fn shared_disks_are_read_only(at: &Cursor, errors: &mut Errors) {
    const WANT: &str =
        "must be true for replicated pods > 1; GCE PD can only be mounted on multiple machines if it is read-only";
    for volume in at.items() {
        let disk = volume.at("gcePersistentDisk");
        if disk.is_set() && !disk.at("readOnly").is_true() {
            errors.push(disk.at("readOnly").invalid(false, WANT));
        }
    }
}
