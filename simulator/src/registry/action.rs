//! POST of an object that changes another object: a binding, a rollback.

use super::{
    admission,
    codec::encode,
    request::{RequestBody, RequestInfo, Response},
    state::Registry,
};
use crate::{api::Status, strategy::Action};

impl Registry {
    /// Applies the action in `body` to the object that the body names.
    pub(super) async fn act(
        &self,
        action: &dyn Action,
        request: &RequestInfo,
        body: &RequestBody,
    ) -> Result<Response, Status> {
        let kind = self.body_kind(action.body_kind())?;
        let body = self.decode_body(&kind, body)?;
        if action.needs_live_namespace() {
            admission::namespace_accepts(self, request, admission::name(&body))?;
        } else {
            admission::namespace_exists(self, request)?;
        }
        action.validate(&body, self.profile)?;
        let mut target = request.with_name(action.name(&body));
        if let Some(name) = action.target() {
            target.resource = self.named(name)?;
        }
        let stored = target.resource.storage_version();
        self.modify(&target, |object| {
            action.apply(&body, object)?;
            *object = stored.canonical(std::mem::take(object));
            Ok(())
        })
        .await?;
        let (code, status) = action.response(self.profile);
        Ok(match status {
            Some(status) => Response {
                code,
                ..Response::status(&status)
            },
            None => Response {
                code,
                body: encode(&kind, body),
            },
        })
    }
}
