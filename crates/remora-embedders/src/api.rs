//! Requests to and answers from embedders over the network, in the formats of three APIs.

use remora_core::settings::Embedder;
use remora_search::Purpose;
use serde_json::{Value, json};

/// Upper limit for the dimensions of a vector. No supported model has more, and it bounds the size of an
/// answer.
const MAX_DIMENSIONS: usize = 4_096;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Api {
    OpenAi,
    Voyage,
    Ollama,
}

impl Api {
    /// `None` for embedders that are not called over the network.
    pub(crate) fn of(embedder: Embedder) -> Option<Self> {
        match embedder {
            Embedder::Builtin | Embedder::Off => None,
            Embedder::OpenAiCompatible => Some(Self::OpenAi),
            Embedder::Voyage => Some(Self::Voyage),
            Embedder::Ollama => Some(Self::Ollama),
        }
    }

    pub(crate) fn own_url(self) -> &'static str {
        match self {
            Self::OpenAi => "https://api.openai.com/v1",
            Self::Voyage => "https://api.voyageai.com/v1",
            Self::Ollama => "http://127.0.0.1:11434",
        }
    }

    pub(crate) fn own_model(self) -> &'static str {
        match self {
            Self::OpenAi => "text-embedding-3-small",
            Self::Voyage => "voyage-4-lite",
            Self::Ollama => "nomic-embed-text",
        }
    }

    /// The base URL. For Ollama, the path of its other interface, which people often include, is removed.
    pub(crate) fn base_url(self, given: &str) -> &str {
        let url = given.trim_end_matches('/');
        match self {
            Self::Ollama => url.strip_suffix("/v1").or_else(|| url.strip_suffix("/api")).unwrap_or(url),
            Self::OpenAi | Self::Voyage => url,
        }
    }

    /// The path of the embedding endpoint below a base URL with this path.
    pub(crate) fn path(self, base_path: &str) -> &'static [&'static str] {
        match (self, base_path.is_empty()) {
            (Self::Ollama, _) => &["api", "embed"],
            (_, true) => &["v1", "embeddings"],
            (_, false) => &["embeddings"],
        }
    }

    pub(crate) fn question(self, model: &str, texts: &[String], purpose: Purpose) -> Value {
        match self {
            Self::OpenAi => json!({ "model": model, "input": texts, "encoding_format": "float" }),
            Self::Voyage => {
                let input_type = match purpose {
                    Purpose::Question => "query",
                    Purpose::Document => "document",
                };
                json!({ "model": model, "input": texts, "input_type": input_type, "truncation": true })
            }
            Self::Ollama => {
                let texts: Vec<String> =
                    texts.iter().map(|text| format!("{}{text}", prefix(model, purpose))).collect();
                json!({ "model": model, "input": texts, "truncate": true })
            }
        }
    }

    /// The vectors of `count` texts, in the order of the texts and normalised to length 1, or a description
    /// of what is wrong.
    pub(crate) fn vectors(self, answer: &Value, count: usize) -> Result<Vec<Vec<f32>>, String> {
        let list = match self {
            Self::Ollama => &answer["embeddings"],
            Self::OpenAi | Self::Voyage => &answer["data"],
        };
        let list = list.as_array().ok_or("there are no vectors in the answer")?;
        if list.len() != count {
            return Err(format!("{} vectors came for {count} texts", list.len()));
        }
        let mut vectors = vec![Vec::new(); count];
        for (place, entry) in list.iter().enumerate() {
            let (place, numbers) = match self {
                Self::Ollama => (place, entry),
                Self::OpenAi | Self::Voyage => (index(entry, place)?, &entry["embedding"]),
            };
            let vector = vectors.get_mut(place).filter(|vector| vector.is_empty());
            *vector.ok_or("two vectors came for one text")? = direction(numbers)?;
        }
        let dimensions = vectors.first().map_or(0, Vec::len);
        if vectors.iter().any(|vector| vector.len() != dimensions) {
            return Err("the vectors of one answer have different lengths".to_owned());
        }
        Ok(vectors)
    }
}

/// The prefix for a text. Some models expect one that states its purpose, and Ollama leaves that to the
/// caller.
fn prefix(model: &str, purpose: Purpose) -> &'static str {
    match purpose {
        _ if !model.contains("nomic-embed-text") => "",
        Purpose::Question => "search_query: ",
        Purpose::Document => "search_document: ",
    }
}

/// The index of the text that a vector belongs to. Answers may come in any order.
fn index(entry: &Value, place: usize) -> Result<usize, String> {
    match &entry["index"] {
        Value::Null => Ok(place),
        index => index
            .as_u64()
            .and_then(|index| usize::try_from(index).ok())
            .ok_or_else(|| "a vector belongs to no text".to_owned()),
    }
}

#[expect(clippy::cast_possible_truncation, reason = "it was an f32 once")]
fn direction(numbers: &Value) -> Result<Vec<f32>, String> {
    let numbers = numbers.as_array().ok_or("a vector is not a list of numbers")?;
    if numbers.is_empty() || numbers.len() > MAX_DIMENSIONS {
        return Err(format!("a vector has {} numbers", numbers.len()));
    }
    let numbers: Option<Vec<f64>> = numbers.iter().map(Value::as_f64).collect();
    let numbers = numbers.ok_or("a vector contains something other than numbers")?;
    let length = numbers.iter().map(|number| number * number).sum::<f64>().sqrt();
    if !length.is_normal() {
        return Err("a vector points nowhere".to_owned());
    }
    Ok(numbers.iter().map(|number| (number / length) as f32).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Api; 3] = [Api::OpenAi, Api::Voyage, Api::Ollama];

    fn answer(api: Api, vectors: &Value) -> Value {
        match api {
            Api::Ollama => json!({ "embeddings": vectors }),
            Api::OpenAi | Api::Voyage => {
                let data: Vec<Value> =
                    vectors.as_array().unwrap().iter().map(|vector| json!({ "embedding": vector })).collect();
                json!({ "data": data })
            }
        }
    }

    #[test]
    fn each_api_gets_its_own_request_format() {
        let texts = ["one".to_owned()];
        let ask = |api: Api, purpose| api.question(api.own_model(), &texts, purpose);
        assert_eq!(
            ask(Api::OpenAi, Purpose::Question),
            json!({ "model": "text-embedding-3-small", "input": ["one"], "encoding_format": "float" })
        );
        assert_eq!(ask(Api::Voyage, Purpose::Question)["input_type"], "query");
        assert_eq!(ask(Api::Voyage, Purpose::Document)["input_type"], "document");
        assert_eq!(ask(Api::Ollama, Purpose::Document)["input"], json!(["search_document: one"]));
        assert_eq!(Api::Ollama.question("bge-m3", &texts, Purpose::Question)["input"], json!(["one"]));
        assert_eq!(Api::Ollama.base_url("http://localhost:11434/v1/"), "http://localhost:11434");
        assert_eq!(Api::OpenAi.path(""), ["v1", "embeddings"]);
        assert_eq!(Api::OpenAi.path("v1"), ["embeddings"]);
    }

    #[test]
    fn vectors_come_in_any_order_and_length() {
        for api in ALL {
            let made = api.vectors(&answer(api, &json!([[3.0, 4.0], [0, 2]])), 2).unwrap();
            assert_eq!(made, [vec![0.6, 0.8], vec![0.0, 1.0]], "{api:?}");
        }
        let shuffled =
            json!({ "data": [{ "index": 1, "embedding": [0, 1] }, { "index": 0, "embedding": [1, 0] }] });
        assert_eq!(Api::OpenAi.vectors(&shuffled, 2).unwrap(), [vec![1.0, 0.0], vec![0.0, 1.0]]);
    }

    #[test]
    fn an_invalid_answer_is_an_error() {
        for api in ALL {
            for wrong in [
                json!([[1.0, 0.0]]),
                json!([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]),
                json!([[1.0, 0.0], [1.0]]),
                json!([[1.0, 0.0], []]),
                json!([[1.0, 0.0], [0.0, 0.0]]),
                json!([[1.0, 0.0], [null, 1.0]]),
                json!([[1.0, 0.0], ["NaN", 1.0]]),
                json!([[1.0, 0.0], [1e300, 1e300]]),
                json!([[1.0, 0.0], "base64"]),
                json!([[1.0, 0.0], vec![1.0; MAX_DIMENSIONS + 1]]),
            ] {
                assert!(api.vectors(&answer(api, &wrong), 2).is_err(), "{api:?} {wrong}");
            }
            for wrong in [json!({}), json!([]), json!("x"), json!({ "data": 7, "embeddings": {} })] {
                assert!(api.vectors(&wrong, 2).is_err(), "{api:?} {wrong}");
            }
        }
        for indices in [[0, 0], [0, 7], [-1, 0]] {
            let data = indices.map(|index| json!({ "index": index, "embedding": [1, 0] }));
            assert!(Api::OpenAi.vectors(&json!({ "data": data }), 2).is_err(), "{indices:?}");
        }
    }
}
