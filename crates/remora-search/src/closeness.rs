//! What a model's cosines mean.
//!
//! Models differ: for one, texts that have nothing to do with each other have a cosine of 0.1, for another of 0.5. The
//! figures here were fitted to the model in the program. Another model is asked about questions and answers that are
//! always the same, and how near those are to it says how its cosines are to be read.

/// Cosines that say something, on a model's own scale.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Closeness {
    /// Below this two texts have nothing in common, …
    pub far: f64,
    /// … above that they say the same.
    pub near: f64,
    /// What shares no word with the question and is no nearer than this has nothing to do with it.
    pub faint: f32,
    /// The least that cosines of unlike texts differ by.
    pub least_deviation: f64,
}

/// Questions with what answers them: each is near its own answer and far from those of the others.
pub const EXAMPLES: [(&str, &str); 6] = [
    (
        "why did the login fail after the server moved",
        "Sessions were rejected because the clock of the new server was two minutes behind",
    ),
    (
        "how are images made smaller",
        "Thumbnails are created by a background job that resizes every uploaded picture",
    ),
    ("where do the colours of the dark theme come from", "Dark mode takes its palette from CSS variables"),
    (
        "which command starts the test database",
        "Run make db before the tests, it launches Postgres in a container",
    ),
    (
        "what makes the parser slow on long files",
        "Tokenizing was quadratic because each line copied the rest of the input",
    ),
    (
        "when are releases published",
        "A new version is shipped every second Tuesday after the nightly build passed",
    ),
];
/// What those are to the model in the program: a question and an answer of another one, a question and its own.
const UNLIKE: f64 = 0.024;
const ALIKE: f64 = 0.471;
/// A model that does not tell them apart by so much tells nothing about its scale.
const LEAST_DIFFERENCE: f64 = 0.05;

impl Closeness {
    /// Of the model in the program.
    pub const BUILTIN: Self = Self { far: 0.15, near: 0.75, faint: 0.2, least_deviation: 0.03 };

    /// How near a cosine is, from 0 to 1.
    pub(crate) fn meaning(&self, cosine: f32) -> f64 {
        ((f64::from(cosine) - self.far) / (self.near - self.far)).clamp(0.0, 1.0)
    }

    /// Of a model that made these vectors of the [`EXAMPLES`].
    pub fn measured(questions: &[Vec<f32>], answers: &[Vec<f32>]) -> Self {
        let (unlike, alike) = likeness(questions, answers);
        let difference = alike - unlike;
        if difference.is_nan() || difference < LEAST_DIFFERENCE {
            return Self::BUILTIN;
        }
        // The straight line on which both kinds lie where they lie for the model in the program.
        let slope = difference / (ALIKE - UNLIKE);
        let on_this_scale = |cosine: f64| unlike + (cosine - UNLIKE) * slope;
        let Self { far, near, faint, least_deviation } = Self::BUILTIN;
        #[expect(clippy::cast_possible_truncation, reason = "a cosine")]
        Self {
            far: on_this_scale(far),
            near: on_this_scale(near),
            faint: on_this_scale(f64::from(faint)) as f32,
            least_deviation: least_deviation * slope,
        }
    }
}

/// The mean cosine of questions with others' answers, and with their own.
#[expect(clippy::cast_precision_loss, reason = "a handful")]
fn likeness(questions: &[Vec<f32>], answers: &[Vec<f32>]) -> (f64, f64) {
    let (mut unlike, mut alike) = (Vec::new(), Vec::new());
    for (asked, question) in questions.iter().enumerate() {
        for (said, answer) in answers.iter().enumerate() {
            let cosine = question.iter().zip(answer).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>();
            if asked == said { alike.push(cosine) } else { unlike.push(cosine) }
        }
    }
    let mean = |cosines: Vec<f64>| cosines.iter().sum::<f64>() / cosines.len() as f64;
    (mean(unlike), mean(alike))
}

#[cfg(test)]
mod tests {
    use remora_embed::Embedder;

    use super::*;
    use crate::embed::{Embed, Purpose};

    fn vectors(embedder: &mut dyn Embed) -> [Vec<Vec<f32>>; 2] {
        let (questions, answers): (Vec<&str>, Vec<&str>) = EXAMPLES.into_iter().unzip();
        [(questions, Purpose::Question), (answers, Purpose::Document)]
            .map(|(texts, purpose)| embedder.embed(&texts, purpose).unwrap().vectors)
    }

    #[test]
    fn the_model_in_the_program_finds_its_own_scale() {
        let [questions, answers] = vectors(&mut Embedder::new());
        let (unlike, alike) = likeness(&questions, &answers);
        assert!((unlike - UNLIKE).abs() < 0.002 && (alike - ALIKE).abs() < 0.002, "{unlike} {alike}");
        let measured = Closeness::measured(&questions, &answers);
        assert!((measured.far - 0.15).abs() < 0.01 && (measured.near - 0.75).abs() < 0.01, "{measured:?}");
    }

    #[test]
    fn a_model_whose_vectors_all_point_one_way_is_read_on_its_own_scale() {
        let [questions, answers] = vectors(&mut Embedder::new());
        // The same with much in common: every cosine lies between a half and one.
        let shifted = |vectors: &[Vec<f32>]| -> Vec<Vec<f32>> {
            let half = 0.5_f32.sqrt();
            vectors.iter().map(|v| v.iter().map(|x| x * half).chain([half]).collect()).collect()
        };
        let measured = Closeness::measured(&shifted(&questions), &shifted(&answers));
        assert!((measured.far - 0.575).abs() < 0.01 && (measured.near - 0.875).abs() < 0.01, "{measured:?}");
        assert!((measured.faint - 0.6).abs() < 0.01, "{measured:?}");
    }

    #[test]
    fn a_model_that_tells_nothing_apart_changes_nothing() {
        let same = vec![vec![1.0, 0.0]; 6];
        assert_eq!(Closeness::measured(&same, &same), Closeness::BUILTIN);
        assert_eq!(Closeness::measured(&[], &[]), Closeness::BUILTIN);
    }
}
