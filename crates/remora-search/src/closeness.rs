//! Calibration of a model's cosines.
//!
//! Models differ: unrelated texts have a cosine of 0.1 for one and of 0.5 for another. The thresholds here were
//! fitted to the built-in model. Any other model embeds a fixed set of questions and answers, and their cosines
//! determine its scale.

/// Thresholds for cosines, on a model's own scale.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Closeness {
    /// Below this, two texts have nothing in common.
    pub far: f64,
    /// Above this, two texts say the same.
    pub near: f64,
    /// Documents below this that share no word with the query are dropped.
    pub faint: f32,
    /// Lower limit for the standard deviation of unrelated texts.
    pub least_deviation: f64,
}

/// Questions with their answers. Each question is near its own answer and far from the others.
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
/// Mean cosines of the examples for the built-in model: of a question with the answer to another one, and with its
/// own.
const UNLIKE: f64 = 0.024;
const ALIKE: f64 = 0.471;
/// If the two means differ by less than this, the model's scale cannot be determined.
const MIN_DIFFERENCE: f64 = 0.05;

impl Closeness {
    /// Thresholds of the built-in model.
    pub const BUILTIN: Self = Self { far: 0.15, near: 0.75, faint: 0.2, least_deviation: 0.03 };

    /// Maps a cosine to a closeness from 0 to 1.
    pub(crate) fn meaning(&self, cosine: f32) -> f64 {
        ((f64::from(cosine) - self.far) / (self.near - self.far)).clamp(0.0, 1.0)
    }

    /// Thresholds of the model that made these vectors of the [`EXAMPLES`].
    pub fn measured(questions: &[Vec<f32>], answers: &[Vec<f32>]) -> Self {
        let (unlike, alike) = likeness(questions, answers);
        let difference = alike - unlike;
        if difference.is_nan() || difference < MIN_DIFFERENCE {
            return Self::BUILTIN;
        }
        // Linear mapping that moves both means to those of the built-in model.
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

/// The mean cosine of questions with other questions' answers, and with their own.
fn likeness(questions: &[Vec<f32>], answers: &[Vec<f32>]) -> (f64, f64) {
    let (mut unlike, mut alike) = (Vec::new(), Vec::new());
    for (asked, question) in questions.iter().enumerate() {
        for (said, answer) in answers.iter().enumerate() {
            let cosine = question.iter().zip(answer).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>();
            if asked == said { alike.push(cosine) } else { unlike.push(cosine) }
        }
    }
    (mean(&unlike), mean(&alike))
}

#[expect(clippy::cast_precision_loss, reason = "a handful")]
fn mean(cosines: &[f64]) -> f64 {
    cosines.iter().sum::<f64>() / cosines.len() as f64
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
    fn the_builtin_model_measures_its_own_scale() {
        let [questions, answers] = vectors(&mut Embedder::new());
        let (unlike, alike) = likeness(&questions, &answers);
        assert!((unlike - UNLIKE).abs() < 0.002 && (alike - ALIKE).abs() < 0.002, "{unlike} {alike}");
        let measured = Closeness::measured(&questions, &answers);
        assert!((measured.far - 0.15).abs() < 0.01 && (measured.near - 0.75).abs() < 0.01, "{measured:?}");
    }

    #[test]
    fn a_model_with_high_cosines_gets_its_own_scale() {
        let [questions, answers] = vectors(&mut Embedder::new());
        // A component common to all vectors moves every cosine to between 0.5 and 1.
        let shifted = |vectors: &[Vec<f32>]| -> Vec<Vec<f32>> {
            let half = 0.5_f32.sqrt();
            vectors.iter().map(|v| v.iter().map(|x| x * half).chain([half]).collect()).collect()
        };
        let measured = Closeness::measured(&shifted(&questions), &shifted(&answers));
        assert!((measured.far - 0.575).abs() < 0.01 && (measured.near - 0.875).abs() < 0.01, "{measured:?}");
        assert!((measured.faint - 0.6).abs() < 0.01, "{measured:?}");
    }

    #[test]
    fn a_model_that_distinguishes_nothing_gets_the_builtin_scale() {
        let same = vec![vec![1.0, 0.0]; 6];
        assert_eq!(Closeness::measured(&same, &same), Closeness::BUILTIN);
        assert_eq!(Closeness::measured(&[], &[]), Closeness::BUILTIN);
    }
}
