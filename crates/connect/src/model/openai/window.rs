//! How large the model's window is, when the server tells.
//!
//! llama.cpp says it at `/props`, vLLM and others in their list of models. Anything unexpected is no answer; nobody waits
//! long for it.

use std::time::Duration;

use serde_json::Value;

/// The most time that one question may take.
pub(super) const LIMIT: Duration = Duration::from_secs(3);
/// The most bytes of an answer.
const MAX_BODY: usize = 4 * 1024 * 1024;

/// Asks one address and reads a JSON value.
pub(super) async fn fetch(sending: reqwest::RequestBuilder) -> Option<Value> {
    let read = async {
        let mut response = sending.send().await.ok()?.error_for_status().ok()?;
        let mut body = Vec::new();
        while let Some(bytes) = response.chunk().await.ok()? {
            body.extend_from_slice(&bytes);
            if body.len() > MAX_BODY {
                return None;
            }
        }
        serde_json::from_slice(&body).ok()
    };
    tokio::time::timeout(LIMIT, read).await.ok()?
}

/// The window in llama.cpp's properties, in tokens.
pub(super) fn of_props(props: &Value) -> Option<u64> {
    let settings = props.get("default_generation_settings");
    let found = settings.and_then(|settings| settings.get("n_ctx")).or_else(|| props.get("n_ctx"));
    tokens(found?)
}

/// The window in a list of models, in tokens.
pub(super) fn of_models(list: &Value, model: &str) -> Option<u64> {
    let named = |entry: &&Value| entry.get("id").is_some_and(|id| id == model);
    let entry = list.get("data")?.as_array()?.iter().find(named)?;
    ["max_model_len", "context_length", "context_window", "max_context_length"]
        .iter()
        .find_map(|key| tokens(entry.get(key)?))
}

fn tokens(value: &Value) -> Option<u64> {
    value.as_u64().filter(|&tokens| tokens > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn llama_cpp() {
        assert_eq!(of_props(&json!({"default_generation_settings": {"n_ctx": 8192}})), Some(8192));
        assert_eq!(of_props(&json!({"n_ctx": 4096})), Some(4096));
        assert_eq!(of_props(&json!({"default_generation_settings": {"n_ctx": 0}})), None);
        assert_eq!(of_props(&json!({})), None);
    }

    #[test]
    fn vllm() {
        let list = json!({"data": [{"id": "a", "max_model_len": 1}, {"id": "b", "max_model_len": 32768}]});
        assert_eq!(of_models(&list, "b"), Some(32768));
        assert_eq!(of_models(&list, "c"), None);
        assert_eq!(of_models(&json!([]), "b"), None);
    }
}
