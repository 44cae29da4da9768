//! Titles that make sense to a new reader: a cause, a decision or a change, with its subject.

use remora_core::memory::ObservationType;
use remora_core::prose::{Form, Normal, Role, Sentence, code_spans, is_subject};

/// Length limit for a title, in characters. A longer one is cut at the last clause that fits.
const MAX_LEN: usize = 90;
/// Length limit for a sentence without a clause to cut at.
const MAX_WHOLE_LEN: usize = 120;
const MIN_LEN: usize = 12;

/// Beginnings that agents use and a title does not need. Whole words, in lower case.
#[rustfmt::skip]
const TITLE_PREFIXES: &[&str] = &[
    "the issue is that", "the issue was that", "the issue is", "the issue was", "the problem is that",
    "the problem was that", "the problem is", "the problem was", "the root cause is that", "the root cause was that",
    "the root cause is", "the root cause was", "the root cause", "root cause", "the cause is that", "the cause was that",
    "the cause is", "the cause was", "the bug is that", "the bug was that", "the bug is", "the bug was", "cause",
    "the reason is that", "the reason is", "the fix is simple", "the fix is to", "the fix is", "the fix was to",
    "the fix", "fix", "it turns out that", "it turns out", "turns out", "this means that", "this means", "i found that",
    "i found", "because", "i see that", "i've", "i have", "we've", "we have", "so", "now", "also", "however", "actually",
    "basically", "decision", "recommendation", "verdict", "summary", "result", "conclusion", "note", "important",
    "key change", "key changes", "the key change", "the answer is", "the simplest fix is to", "the simplest fix is", "bug",
    "right now", "still the same", "short answer", "good", "great", "ok", "okay",
    "right", "yes", "no", "nope", "yeah", "you're right", "exactly", "correct", "good point", "good catch", "honestly", "current state",
    "something like", "ja", "nein", "stimmt", "oui", "non", "sí", "key point", "changes made", "done", "fixed", "updated", "good news", "das problem ist",
    "das problem war", "die ursache ist", "die ursache war", "ich habe", "entscheidung", "ergebnis", "erledigt", "ursache",
    "le problème est que", "le problème était que", "le problème est", "le problème venait de", "la cause est",
    "i was not able to fix this", "i could not fix this", "i couldn't fix this", "unfortunately", "malheureusement",
    "desafortunadamente", "leider", "j'ai", "décision", "résultat", "el problema es que", "el problema era que", "el problema es", "la causa es",
    "la causa era", "he", "decisión", "resultado",
];

/// Words that refer to something said before. A title has nothing before it.
#[rustfmt::skip]
const POINTERS: &[&str] = &[
    "it", "it's", "its", "this", "that", "that's", "these", "those", "they", "they're", "he", "she", "you", "you're", "your",
    "i", "i'd", "i'm", "we", "there", "there's", "here", "here's", "same", "both",
    "either", "neither", "then", "yes", "no", "but", "and", "or", "if", "when", "which", "while", "since", "after",
    "before", "once", "without", "not", "be", "been", "line", "next", "option", "step", "with", "as", "to", "for", "in", "das", "dies", "diese", "dieser", "sie", "es", "dort",
    "wenn", "aber", "und", "cela", "ceci", "ce", "cette", "ces", "il", "elle", "ils", "si", "mais", "et", "esto", "eso",
    "este", "esta", "estos", "ellos", "pero", "y", "cuando",
];

/// Words that refer back from the end of a title.
const TRAILING: &[&str] =
    &["it", "this", "that", "these", "those", "them", "das", "dies", "cela", "ça", "esto", "eso"];

/// Words that reverse the meaning of the clause before them.
#[rustfmt::skip]
const TURNS: &[&str] = &[
    "but", "unless", "except", "only", "however", "although", "though", "yet", "until", "aber", "außer", "sondern",
    "nur", "mais", "sauf", "pero", "sino", "salvo", "excepto",
];

/// Words that a title must not end with.
#[rustfmt::skip]
const DANGLING: &[&str] = &[
    "a", "an", "the", "of", "to", "in", "on", "at", "for", "with", "by", "from", "and", "or", "but", "as", "that",
    "which", "is", "are", "was", "were", "its", "their", "this", "not", "no", "only", "than", "so", "if", "when", "into",
    "be", "has", "have", "because", "like", "such", "any", "each", "every", "some", "where", "how", "what", "can", "will",
    "would", "it", "we", "you", "our", "your", "der", "die", "das", "ein", "eine", "und", "oder", "mit", "von", "zu", "im", "le",
    "la", "les", "un", "une", "et", "de", "du", "que", "el", "los", "las", "y", "en", "con", "para", "por",
];

/// Sources for a title.
#[derive(Debug, Clone, Copy)]
pub(super) enum Source<'a> {
    Sentence(&'a Sentence),
    /// The subject of a commit.
    Commit(&'a str),
    /// The heading of a plan that the agent was given.
    Plan(&'a str),
}

/// The best title from these sources, which are in the order they were said. Something built is named after the
/// change; something fixed or found out, after its cause.
pub(super) fn choose<'a>(
    sources: impl Iterator<Item = Source<'a>>,
    kind: ObservationType,
) -> Option<(String, Source<'a>)> {
    let mut best: Option<(f64, String, Source<'a>)> = None;
    let mut is_headline = true;
    for (place, source) in sources.enumerate() {
        let Some((mut worth, title)) = candidate(source, place) else { continue };
        if matches!(source, Source::Sentence(_)) && is_headline {
            let is_one = subjects(&title) >= 3 && !Normal::new(&title).starts(POINTERS);
            worth += if is_one { headline(kind) } else { 0.0 };
            is_headline = false;
        }
        if best.as_ref().is_none_or(|(most, ..)| worth > *most) {
            best = Some((worth, title, source));
        }
    }
    best.map(|(_, title, source)| (title, source))
}

/// Bonus for the first meaningful sentence of a message, which is usually its main point.
fn headline(kind: ObservationType) -> f64 {
    if kind.is_report() { 1.9 } else { 0.9 }
}

fn candidate(source: Source<'_>, place: usize) -> Option<(f64, String)> {
    let (worth, text) = match source {
        Source::Commit(subject) => (4.5, subject),
        Source::Plan(heading) => (4.3, heading),
        Source::Sentence(sentence) => {
            let by_role = match sentence.role {
                Role::Cause => 2.8,
                Role::Decision => 2.7,
                Role::Caveat => 1.9,
                Role::Account => 1.6,
                _ => return None,
            };
            (by_role, sentence.text.as_str())
        }
    };
    let title = of_sentence(text)?;
    let normal = Normal::new(&title);
    #[expect(clippy::cast_precision_loss, reason = "sentences of a message")]
    let late = 0.03 * place.min(30) as f64;
    let points = if normal.starts(POINTERS) { 1.6 } else { 0.0 };
    let form = match source {
        Source::Sentence(Sentence { form: Form::Item, .. }) => 0.3,
        Source::Sentence(Sentence { form: Form::Row, .. }) => 2.0,
        _ => 0.0,
    };
    // A cut title says less than a whole one, "supports this" does not say what, and a sentence with a colon only
    // introduces something.
    let is_cut = title.ends_with('…');
    let trails = normal.words().last().is_some_and(|word| TRAILING.contains(&word));
    let introduces = text.trim_end().ends_with([':', '：']);
    let flaws = [(is_cut, 0.8), (trails, 1.0), (introduces, 1.0)];
    let flaws: f64 = flaws.into_iter().filter(|(is_so, _)| *is_so).map(|(_, cost)| cost).sum();
    Some((worth + names(&title) - points - late - form - flaws, title))
}

/// Bonus for names (code, paths, identifiers), which make a title easy to find.
fn names(title: &str) -> f64 {
    match title.split_whitespace().filter(|word| is_name(word)).count() {
        0 => 0.0,
        1 => 0.5,
        _ => 0.7,
    }
}

/// Whether a word is a name from code and not a word of natural language.
pub(super) fn is_name(word: &str) -> bool {
    let word = word.trim_matches(|c: char| !c.is_alphanumeric() && !"`_/".contains(c));
    let inner = word.get(1..).unwrap_or_default();
    word.starts_with('`')
        || word.contains(['_', '/', '('])
        || inner.contains(|c: char| c.is_uppercase() || c == '.' || c.is_ascii_digit())
}

/// The sentence as a title; `None` if too little remains to be meaningful.
pub(super) fn of_sentence(sentence: &str) -> Option<String> {
    let introduces = sentence.trim_end().ends_with([':', '：']);
    let sentence = sentence.trim().trim_end_matches(['.', '!', ':', '…', '。', '！', '：']);
    if sentence.ends_with(['?', '？']) {
        return None;
    }
    let title = limit(without_lead(without_symbols(sentence)));
    // "Settings > Apps > New" is a path through menus; "Instead of one commit, it now:" ends before it says anything.
    let is_menu = title.matches(" > ").count() >= 2;
    let leads_on =
        introduces && title.rsplit(' ').next().is_some_and(|word| is_dangling(&word) || word == "now");
    let is_telling = title.chars().count() >= MIN_LEN && !is_bare(&title) && !is_menu && !leads_on;
    is_telling.then(|| capitalised(&title))
}

/// The sentence without emoji, bullets and dashes before its first word. `**kwargs`, `~/.config` and `--all` stay.
fn without_symbols(sentence: &str) -> &str {
    let mut rest = sentence;
    loop {
        let word = rest.split(' ').next().unwrap_or_default();
        let is_symbol =
            !word.is_empty() && !word.contains(|c: char| c.is_alphanumeric() || "`\"'$<(„“¿¡«".contains(c));
        let next = if is_symbol { &rest[word.len()..] } else { rest };
        let next = next.trim_start_matches(|c: char| {
            c == ' ' || (!c.is_ascii() && !c.is_alphanumeric() && !"„“¿¡«".contains(c))
        });
        if next.len() == rest.len() {
            return rest;
        }
        rest = next;
    }
}

/// Whether too few words are subjects, or all of them are names.
fn is_bare(title: &str) -> bool {
    let has_wide = title.contains(|c: char| c >= '\u{2e80}');
    let words = Normal::new(title).words().filter(|word| *word != "`").count();
    !has_wide && (words < 2 || subjects(title) < 2)
}

/// Number of words in a text that are subjects. Each name in code counts as one.
fn subjects(text: &str) -> usize {
    Normal::new(text).words().filter(|word| is_subject(word)).count()
}

/// The whole text, or as many of its clauses as fit. A text without a place to cut ends with `…`.
pub(super) fn limit(text: &str) -> String {
    let text = text.trim();
    if text.chars().count() <= MAX_LEN {
        return balanced(text.trim_end_matches([',', ';', ':', '-', '–', '—', ' ']));
    }
    let is_nearly_short = text.chars().count() <= MAX_WHOLE_LEN;
    let end =
        last_clause(text, CLAUSES).or_else(|| if is_nearly_short { None } else { last_clause(text, COMMAS) });
    match end {
        Some(end) => balanced(text[..end].trim_end_matches([',', ';', ':', '-', '–', '—', ' '])),
        None if is_nearly_short => balanced(text),
        None => cut_at_word(text),
    }
}

/// Marks at which a sentence begins to explain itself.
#[rustfmt::skip]
const CLAUSES: &[&str] = &[
    "; ", " — ", " – ", " - ", ": ", ", which ", ", so ", ", because ", " because ", ", since ", ", where ", ", even ",
    ", rather ", ", not ", ", while ", " so that ", ", and ", "。", "；", ", weil ", " weil ", ", sodass ", ", denn ", ", da ",
    ", und ", " parce que ", ", car ", ", donc ", ", et ", " porque ", ", ya que ", ", por lo que ", ", y ",
];
/// A list may also be cut here, as a last resort.
const COMMAS: &[&str] = &[", ", "，"];

/// The end of the last clause that leaves a title of the right length.
fn last_clause(text: &str, marks: &[&str]) -> Option<usize> {
    let mut ends = clauses(text, marks);
    ends.retain(|end| {
        let head = &text[..*end];
        (MIN_LEN * 2..=MAX_LEN).contains(&head.chars().count()) && head.split_whitespace().count() >= 4
    });
    // A list follows a colon. It is kept whole or left out, unless "it:" refers to it.
    let colon = ends.iter().copied().find(|end| {
        let last_word = text[..*end].rsplit(' ').next();
        text[*end..].starts_with(": ") && !last_word.is_some_and(|word| TRAILING.contains(&word))
    });
    colon.or_else(|| ends.into_iter().max())
}

/// Ends of clauses outside of code and brackets, unless the next word reverses their meaning.
fn clauses(text: &str, marks: &[&str]) -> Vec<usize> {
    let mut ends = Vec::new();
    let (mut in_code, mut depth) = (false, 0_usize);
    for (at, c) in text.char_indices() {
        if !in_code && depth == 0 && marks.iter().any(|mark| text[at..].starts_with(mark)) {
            let rest = Normal::new(&text[at..]);
            if !rest.words().next().is_some_and(|word| TURNS.contains(&word)) {
                ends.push(at);
            }
        }
        match c {
            '`' => in_code = !in_code,
            '(' | '[' if !in_code => depth += 1,
            ')' | ']' if !in_code => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    ends
}

fn cut_at_word(text: &str) -> String {
    let mut words: Vec<&str> = Vec::new();
    let mut length = 0;
    for word in text.split_whitespace() {
        length += word.chars().count() + 1;
        if length > MAX_LEN {
            break;
        }
        words.push(word);
    }
    while words.last().is_some_and(is_dangling) {
        words.pop();
    }
    let cut = balanced(words.join(" ").trim_end_matches([',', ';', ':', '-', '–', '—', ' ']));
    if cut.is_empty() { remora_core::text::one_line(text, MAX_LEN) } else { cut + "…" }
}

fn is_dangling(word: &&str) -> bool {
    DANGLING.contains(&word.to_lowercase().trim_matches([',', ';', ':']))
}

/// Removes backticks and a bracket without a partner. Code stays as it is.
fn balanced(title: &str) -> String {
    let spans: Vec<_> = code_spans(title).collect();
    let is_code = |at: usize| spans.iter().any(|span| span.contains(&at));
    let (mut opened, mut closed, mut last_open) = (0, 0, title.len());
    for (at, c) in title.char_indices().filter(|(at, _)| !is_code(*at)) {
        match c {
            '(' => (opened, last_open) = (opened + 1, at),
            ')' => closed += 1,
            _ => {}
        }
    }
    let end = if opened > closed { last_open } else { title.len() };
    let kept = title[..end].char_indices().filter(|(at, c)| *c != '`' || is_code(*at));
    kept.map(|(_, c)| c).collect::<String>().trim_end().to_owned()
}

/// Removes all leads in a row: "Done. The fix is simple: changed…".
fn without_lead(sentence: &str) -> &str {
    let mut rest = sentence;
    while let Some(next) = TITLE_PREFIXES.iter().find_map(|lead| after_lead(rest, lead)) {
        rest = next;
    }
    for person in ["I ", "We "] {
        let deed = rest.strip_prefix(person).and_then(|rest| rest.split_whitespace().next());
        if deed.is_some_and(|word| word.ends_with("ed") || PAST_TENSE_VERBS.contains(&word)) {
            rest = &rest[person.len()..];
        }
    }
    rest
}

/// Verbs after "I" for which a title does not need the "I": "I fixed…", not "I was not able…".
const PAST_TENSE_VERBS: &[&str] = &["made", "wrote", "rewrote", "built", "put", "cut", "split", "set"];

/// The text after a lead, if the text begins with it and something remains.
fn after_lead<'a>(text: &'a str, lead: &str) -> Option<&'a str> {
    let (beginning, rest) = text.split_at_checked(lead.len())?;
    let is_there = beginning.to_lowercase().replace('’', "'") == lead;
    let ends_word = rest.starts_with(|c: char| c.is_whitespace() || ",:—–-".contains(c));
    // "The fix is in `main.rs`" is a statement; "The fix: …" and "The fix is simple: …" introduce one.
    let marked = rest.trim_start_matches([' ', ',', ':', '—', '–', '-']);
    let needs_mark =
        !lead.contains(' ') || matches!(lead, "the fix" | "the root cause" | "key change" | "key changes");
    let is_marked = rest.trim_start().starts_with([',', ':', '—', '–', '-']);
    let is_free =
        matches!(lead, "i've" | "so" | "because" | "now" | "also" | "j'ai" | "he" | "actually" | "basically");
    let leads = is_there && ends_word && (is_marked || !needs_mark || is_free);
    (leads && marked.split_whitespace().count() >= 3).then_some(marked)
}

/// With a capital letter, unless a name begins it.
fn capitalised(text: &str) -> String {
    if text.split(' ').next().is_some_and(is_name) {
        return text.to_owned();
    }
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use remora_core::prose::sentences;

    use super::*;

    #[test]
    fn a_title_has_as_many_clauses_as_fit() {
        for (sentence, title) in [
            (
                "The stale island prices are fixed; they had two causes that only hurt together, and neither was easy to see.",
                "The stale island prices are fixed; they had two causes that only hurt together",
            ),
            (
                "Decision: money is whole cents in an `i64`, no longer an `f64`.",
                "Money is whole cents in an `i64`, no longer an `f64`",
            ),
            ("I've fixed the cache in `src/cache.rs`.", "Fixed the cache in `src/cache.rs`"),
            (
                "The issue is that `pull_request` events from forks get a read-only token, even with `contents: write`.",
                "`pull_request` events from forks get a read-only token, even with `contents: write`",
            ),
            (
                "Added timing to both methods of the client that sends events: `Enqueue` takes 3 ms, and `Flush` takes 40 ms.",
                "Added timing to both methods of the client that sends events",
            ),
            (
                "Still the same: replace `getStagedFiles` with a call of git.",
                "Replace `getStagedFiles` with a call of git",
            ),
            ("✅ 1.18.0 is live on staging (2/2 healthy).", "1.18.0 is live on staging (2/2 healthy)"),
            (
                "The retry worker may be switched off while the import of the nightly tariffs runs, but only if the queue is empty then.",
                "The retry worker may be switched off while the import of the nightly tariffs runs, but only if the queue is empty then",
            ),
        ] {
            assert_eq!(of_sentence(sentence).as_deref(), Some(title));
        }
        for code in [
            "`foo(` and `vec![a` are read",
            "**kwargs are passed to `f`",
            "__init__ runs twice a day",
            "src/**/*.ts is matched",
            "snake_case_name is wrong here",
            "~/.config is read first",
            "--all is the default flag",
            "1024**2 bytes fit in it",
            "*.rs and src/*.rs are matched",
            "main.rs reads the file twice",
            "``a`b`` is one code span",
        ] {
            assert_eq!(of_sentence(&format!("{code}.")).as_deref(), Some(code));
        }
        assert_eq!(limit("Reads `a` and `b"), "Reads `a` and b");
        for nothing in [
            "Done!",
            "Is that right?",
            "`a`: `b`",
            "Updated.",
            "Org settings > Developer settings > GitHub Apps > New",
            "Instead of one flattened commit, it now:",
        ] {
            assert_eq!(of_sentence(nothing), None, "{nothing}");
        }
    }

    #[test]
    fn a_title_names_the_cause_or_the_change_never_the_status() {
        for (message, title) in [
            (
                "All 1318 tests pass. The fix is simple: changed `network` to `write` in `provider.ts`.",
                "Changed `network` to `write` in `provider.ts`",
            ),
            (
                "Here's what was fixed:\n\n- **`schema.ts`** — keys are checked for 64 characters",
                "`schema.ts` — keys are checked for 64 characters",
            ),
            (
                "Lint is clean now. It was slow.\n\nThe root cause: `parse` reads the file twice.",
                "`parse` reads the file twice",
            ),
            (
                "Alle Tests laufen. Der Zähler war falsch, weil `close` ihn zweimal senkt.",
                "Der Zähler war falsch, weil `close` ihn zweimal senkt",
            ),
        ] {
            let said = sentences(message);
            assert_eq!(
                choose(said.iter().map(Source::Sentence), ObservationType::Bugfix).map(|(title, _)| title),
                Some(title.to_owned())
            );
        }
        let said = sentences("All tests pass and lint is clean. Those were already cleaned up.");
        assert!(choose(said.iter().map(Source::Sentence), ObservationType::Bugfix).is_none());
    }
}
