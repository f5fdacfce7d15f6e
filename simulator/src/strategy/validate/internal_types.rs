//! Internal types of v1.2 whose values are shown in errors or compared, as data.
//!
//! Source: the internal types of Kubernetes v1.2 (names, order and `omitempty` of their fields).

use serde_json::Value;

use super::internal_form::{InternalType, Member};
use InternalType::{Bool, Int, IntOrText, List, Map, Optional, Quantity, Struct, Text, Time};

/// Field that is shown even if it is zero.
const fn always(name: &'static str, internal_type: InternalType) -> Member {
    Member {
        sent: name,
        shown: name,
        omit_empty: false,
        internal_type,
    }
}

/// Field that is omitted if it is zero.
const fn maybe(name: &'static str, internal_type: InternalType) -> Member {
    Member {
        sent: name,
        shown: name,
        omit_empty: true,
        internal_type,
    }
}

/// Name in a reference to an object of the same namespace. Its internal field has no JSON name.
const REFERENCE_NAME: Member = Member {
    sent: "name",
    shown: "Name",
    omit_empty: false,
    internal_type: Text,
};

const TEXTS: InternalType = List(&Text);
const TEXT_MAP: InternalType = Map(&Text);
const READ_ONLY: Member = maybe("readOnly", Bool);
const FS_TYPE: Member = maybe("fsType", Text);
const LOCAL_REFERENCE: InternalType = Struct(&[REFERENCE_NAME]);
const FIELD_REFERENCE: InternalType = Struct(&[always("apiVersion", Text), always("fieldPath", Text)]);
const KEY_REFERENCE: InternalType = Struct(&[REFERENCE_NAME, always("key", Text)]);

/// Amounts by resource name.
pub(crate) const RESOURCE_LIST: InternalType = Map(&Quantity);

/// Limits and requests of resources.
const RESOURCE_REQUIREMENTS: InternalType = Struct(&[maybe("limits", RESOURCE_LIST), maybe("requests", RESOURCE_LIST)]);

const METADATA: InternalType = Struct(&[
    maybe("name", Text),
    maybe("generateName", Text),
    maybe("namespace", Text),
    maybe("selfLink", Text),
    maybe("uid", Text),
    maybe("resourceVersion", Text),
    maybe("generation", Int),
    maybe("creationTimestamp", Time),
    maybe("deletionTimestamp", Optional(&Time)),
    maybe("deletionGracePeriodSeconds", Optional(&Int)),
    maybe("labels", TEXT_MAP),
    maybe("annotations", TEXT_MAP),
]);

const VOLUME: InternalType = Struct(&[
    always("name", Text),
    maybe("hostPath", Optional(&Struct(&[always("path", Text)]))),
    maybe("emptyDir", Optional(&Struct(&[maybe("medium", Text)]))),
    maybe(
        "gcePersistentDisk",
        Optional(&Struct(&[
            always("pdName", Text),
            FS_TYPE,
            maybe("partition", Int),
            READ_ONLY,
        ])),
    ),
    maybe(
        "awsElasticBlockStore",
        Optional(&Struct(&[
            always("volumeID", Text),
            FS_TYPE,
            maybe("partition", Int),
            READ_ONLY,
        ])),
    ),
    maybe(
        "gitRepo",
        Optional(&Struct(&[
            always("repository", Text),
            maybe("revision", Text),
            maybe("directory", Text),
        ])),
    ),
    maybe("secret", Optional(&Struct(&[maybe("secretName", Text)]))),
    maybe(
        "nfs",
        Optional(&Struct(&[always("server", Text), always("path", Text), READ_ONLY])),
    ),
    maybe("iscsi", Optional(&ISCSI)),
    maybe(
        "glusterfs",
        Optional(&Struct(&[always("endpoints", Text), always("path", Text), READ_ONLY])),
    ),
    maybe(
        "persistentVolumeClaim",
        Optional(&Struct(&[always("claimName", Text), READ_ONLY])),
    ),
    maybe("rbd", Optional(&RBD)),
    maybe("flexVolume", Optional(&FLEX_VOLUME)),
    maybe(
        "cinder",
        Optional(&Struct(&[always("volumeID", Text), FS_TYPE, READ_ONLY])),
    ),
    maybe("cephfs", Optional(&CEPHFS)),
    maybe("flocker", Optional(&Struct(&[always("datasetName", Text)]))),
    maybe(
        "downwardAPI",
        Optional(&Struct(&[maybe(
            "items",
            List(&Struct(&[always("path", Text), always("fieldRef", FIELD_REFERENCE)])),
        )])),
    ),
    maybe(
        "fc",
        Optional(&Struct(&[
            always("targetWWNs", TEXTS),
            always("lun", Optional(&Int)),
            FS_TYPE,
            READ_ONLY,
        ])),
    ),
    maybe(
        "azureFile",
        Optional(&Struct(&[
            always("secretName", Text),
            always("shareName", Text),
            READ_ONLY,
        ])),
    ),
    maybe(
        "configMap",
        Optional(&Struct(&[
            REFERENCE_NAME,
            maybe("items", List(&Struct(&[always("key", Text), always("path", Text)]))),
        ])),
    ),
]);

const ISCSI: InternalType = Struct(&[
    maybe("targetPortal", Text),
    maybe("iqn", Text),
    maybe("lun", Int),
    maybe("iscsiInterface", Text),
    FS_TYPE,
    READ_ONLY,
]);
const RBD: InternalType = Struct(&[
    always("monitors", TEXTS),
    always("image", Text),
    FS_TYPE,
    always("pool", Text),
    always("user", Text),
    always("keyring", Text),
    always("secretRef", Optional(&LOCAL_REFERENCE)),
    READ_ONLY,
]);
const FLEX_VOLUME: InternalType = Struct(&[
    always("driver", Text),
    FS_TYPE,
    maybe("secretRef", Optional(&LOCAL_REFERENCE)),
    READ_ONLY,
    maybe("options", TEXT_MAP),
]);
const CEPHFS: InternalType = Struct(&[
    always("monitors", TEXTS),
    maybe("path", Text),
    maybe("user", Text),
    maybe("secretFile", Text),
    maybe("secretRef", Optional(&LOCAL_REFERENCE)),
    READ_ONLY,
]);

const EXEC: Member = maybe("exec", Optional(&Struct(&[maybe("command", TEXTS)])));
const HTTP_GET: Member = maybe(
    "httpGet",
    Optional(&Struct(&[
        maybe("path", Text),
        maybe("port", IntOrText),
        maybe("host", Text),
        maybe("scheme", Text),
        maybe(
            "httpHeaders",
            List(&Struct(&[always("name", Text), always("value", Text)])),
        ),
    ])),
);
const TCP_SOCKET: Member = maybe("tcpSocket", Optional(&Struct(&[maybe("port", IntOrText)])));
const HANDLER: InternalType = Struct(&[EXEC, HTTP_GET, TCP_SOCKET]);
const PROBE: InternalType = Struct(&[
    EXEC,
    HTTP_GET,
    TCP_SOCKET,
    maybe("initialDelaySeconds", Int),
    maybe("timeoutSeconds", Int),
    maybe("periodSeconds", Int),
    maybe("successThreshold", Int),
    maybe("failureThreshold", Int),
]);

const SE_LINUX: InternalType = Struct(&[
    maybe("user", Text),
    maybe("role", Text),
    maybe("type", Text),
    maybe("level", Text),
]);
const SECURITY_CONTEXT: InternalType = Struct(&[
    maybe(
        "capabilities",
        Optional(&Struct(&[maybe("add", TEXTS), maybe("drop", TEXTS)])),
    ),
    maybe("privileged", Optional(&Bool)),
    maybe("seLinuxOptions", Optional(&SE_LINUX)),
    maybe("runAsUser", Optional(&Int)),
    maybe("runAsNonRoot", Optional(&Bool)),
    maybe("readOnlyRootFilesystem", Optional(&Bool)),
]);

const ENV: InternalType = Struct(&[
    always("name", Text),
    maybe("value", Text),
    maybe(
        "valueFrom",
        Optional(&Struct(&[
            maybe("fieldRef", Optional(&FIELD_REFERENCE)),
            maybe("configMapKeyRef", Optional(&KEY_REFERENCE)),
            maybe("secretKeyRef", Optional(&KEY_REFERENCE)),
        ])),
    ),
]);
const CONTAINER_PORT: InternalType = Struct(&[
    maybe("name", Text),
    maybe("hostPort", Int),
    always("containerPort", Int),
    maybe("protocol", Text),
    maybe("hostIP", Text),
]);

const CONTAINER: InternalType = Struct(&[
    always("name", Text),
    always("image", Text),
    maybe("command", TEXTS),
    maybe("args", TEXTS),
    maybe("workingDir", Text),
    maybe("ports", List(&CONTAINER_PORT)),
    maybe("env", List(&ENV)),
    maybe("resources", RESOURCE_REQUIREMENTS),
    maybe(
        "volumeMounts",
        List(&Struct(&[always("name", Text), READ_ONLY, always("mountPath", Text)])),
    ),
    maybe("livenessProbe", Optional(&PROBE)),
    maybe("readinessProbe", Optional(&PROBE)),
    maybe(
        "lifecycle",
        Optional(&Struct(&[
            maybe("postStart", Optional(&HANDLER)),
            maybe("preStop", Optional(&HANDLER)),
        ])),
    ),
    maybe("terminationMessagePath", Text),
    always("imagePullPolicy", Text),
    maybe("securityContext", Optional(&SECURITY_CONTEXT)),
    maybe("stdin", Bool),
    maybe("stdinOnce", Bool),
    maybe("tty", Bool),
]);

/// Fields of a pod's specification in v1 that are fields of its security context internally.
const HOST_NAMESPACES: [&str; 3] = ["hostNetwork", "hostPID", "hostIPC"];

/// Specification of a pod, after [`internal_spec`].
pub(crate) const POD_SPEC: InternalType = Struct(&[
    always("volumes", List(&VOLUME)),
    always("containers", List(&CONTAINER)),
    maybe("restartPolicy", Text),
    maybe("terminationGracePeriodSeconds", Optional(&Int)),
    maybe("activeDeadlineSeconds", Optional(&Int)),
    maybe("dnsPolicy", Text),
    maybe("nodeSelector", TEXT_MAP),
    always("serviceAccountName", Text),
    maybe("nodeName", Text),
    maybe(
        "securityContext",
        Optional(&Struct(&[
            maybe("hostNetwork", Bool),
            maybe("hostPID", Bool),
            maybe("hostIPC", Bool),
            maybe("seLinuxOptions", Optional(&SE_LINUX)),
            maybe("runAsUser", Optional(&Int)),
            maybe("runAsNonRoot", Optional(&Bool)),
            maybe("supplementalGroups", List(&Int)),
            maybe("fsGroup", Optional(&Int)),
        ])),
    ),
    maybe("imagePullSecrets", List(&LOCAL_REFERENCE)),
]);

/// Template of a pod, after [`with_internal_spec`].
pub(crate) const POD_TEMPLATE: InternalType = Struct(&[maybe("metadata", METADATA), maybe("spec", POD_SPEC)]);

/// Optional label selector.
pub(crate) const LABEL_SELECTOR: InternalType = Optional(&Struct(&[
    maybe("matchLabels", TEXT_MAP),
    maybe(
        "matchExpressions",
        List(&Struct(&[
            always("key", Text),
            always("operator", Text),
            maybe("values", TEXTS),
        ])),
    ),
]));

/// Labels or annotations.
pub(crate) const LABELS: InternalType = TEXT_MAP;

/// Strings.
pub(crate) const STRINGS: InternalType = TEXTS;

/// Optional integer.
pub(crate) const OPTIONAL_INT: InternalType = Optional(&Int);

/// Ports of a service.
pub(crate) const SERVICE_PORTS: InternalType = List(&Struct(&[
    always("name", Text),
    always("protocol", Text),
    always("port", Int),
    always("targetPort", IntOrText),
    always("nodePort", Int),
]));

/// Address of a node.
pub(crate) const NODE_ADDRESS: InternalType = Struct(&[always("type", Text), always("address", Text)]);

/// Immutable fields of a node's specification.
pub(crate) const NODE_IDENTITY: InternalType = Struct(&[maybe("externalID", Text), maybe("providerID", Text)]);

/// Specification of a persistent volume claim.
pub(crate) const CLAIM_SPEC: InternalType = Struct(&[
    maybe("accessModes", TEXTS),
    maybe("resources", RESOURCE_REQUIREMENTS),
    maybe("volumeName", Text),
]);

/// Moves the fields of the v1 pod specification `sent` to their internal places.
pub(crate) fn internal_spec(sent: &Value) -> Value {
    let mut spec = sent.clone();
    let Value::Object(fields) = &mut spec else { return spec };
    let moved: Vec<_> = HOST_NAMESPACES
        .iter()
        .filter_map(|name| Some((*name, fields.shift_remove(*name)?)))
        .collect();
    if fields
        .get("serviceAccountName")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .is_empty()
        && let Some(account) = fields.shift_remove("serviceAccount")
    {
        fields.insert("serviceAccountName".to_owned(), account);
    }
    let context = fields.entry("securityContext").or_insert(Value::Null);
    if context.is_null() {
        *context = Value::Object(serde_json::Map::new());
    }
    if let Value::Object(context) = context {
        context.extend(moved.into_iter().map(|(name, value)| (name.to_owned(), value)));
    }
    spec
}

/// Moves the specification's fields in the v1 pod template `sent` to their internal places.
pub(crate) fn with_internal_spec(sent: &Value) -> Value {
    let mut template = sent.clone();
    if let Value::Object(fields) = &mut template {
        let spec = fields
            .get("spec")
            .map_or_else(|| Value::Object(serde_json::Map::new()), Clone::clone);
        fields.insert("spec".to_owned(), internal_spec(&spec));
    }
    template
}
