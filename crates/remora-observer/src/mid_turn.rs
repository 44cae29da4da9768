//! The agent's messages between its tool calls, from the host's transcript.
//!
//! A transcript is a file of another program: it may be missing, foreign, huge, or incomplete. It is read from the
//! end of the last read, within a limit, and only the part that belongs to the turn counts. Its texts are cleaned
//! like events before they are used, and the capture rules apply: nothing is read of a private turn, or of an
//! excluded or paused project.

use std::path::{Path, PathBuf};

use remora_core::capture::{self, Paths};
use remora_core::host::Host;
use remora_core::intake::{Document, Intake};
use remora_core::privacy::clean_text;
use remora_core::settings::Capture;
use remora_core::text::{Excerpt, ExcerptLimit, prefix};
use remora_hosts::transcript::{self, Entry, Line};
use remora_store::{DataDir, ReadTo, Said, Transcript, log, pause};
use remora_sys::file::{Lines, is_absent, read_lines, read_next_lines, real_path};

/// Bytes read at a time. A turn of a few hundred calls takes 1 or 2 MB, including all tool output.
const MAX_READ: u64 = 4 << 20;
/// Bytes read at a time from an imported transcript. It is read from its beginning, and a longer turn would end the
/// import.
const MAX_PAST_BYTES: u64 = 16 << 20;
/// Bytes read to see whether a transcript ends in a call. Parallel calls return within fewer.
const MAX_END_BYTES: u64 = 512 << 10;
/// Length limits in bytes (head, tail): one text, a digest, and a command that never returned.
const TEXT: ExcerptLimit = ExcerptLimit { head: 8 << 10, tail: 4 << 10 };
const DIGEST: ExcerptLimit = ExcerptLimit { head: 32 << 10, tail: 16 << 10 };
const COMMAND: ExcerptLimit = ExcerptLimit { head: 100, tail: 0 };
/// Size limit for all texts of a turn, in bytes; the latest are kept.
const MAX_SAID: usize = 64 << 10;
/// Two texts count as equal if this many bytes at their beginnings are. The rest may have been cut in one of them.
const COMPARED: usize = 1 << 10;

/// Which transcripts may be read.
#[derive(Debug, Clone)]
pub(crate) enum Transcripts {
    /// None: only events from hooks are used.
    Ignored,
    /// Those that the capture rules allow.
    Read { capture: Box<Capture>, home: Option<PathBuf> },
}

/// Messages found for one turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TurnMessages {
    pub(crate) said: Vec<Said>,
    /// The host's own digest of the session, if there is one.
    pub(crate) digest: Option<String>,
    /// A command that was called and has not returned.
    pub(crate) running: Option<String>,
    pub(crate) read: ReadTo,
}

/// Messages found for a turn that is about to be observed.
#[derive(Debug, Default)]
pub(crate) struct TurnTexts {
    /// For the turn before it: messages that the host wrote after that turn was observed.
    pub(crate) late: Option<(i64, TurnMessages)>,
    pub(crate) own: Option<TurnMessages>,
}

impl Transcripts {
    pub(crate) fn allowed_by(capture: &Capture) -> Self {
        let home = std::env::home_dir().filter(|home| home.is_absolute());
        Self::Read { capture: Box::new(capture.clone()), home }
    }

    /// Reads the messages of turn `number`, which began with `prompt`.
    pub(crate) fn messages(
        &self,
        dir: &DataDir,
        transcript: &Transcript,
        number: i64,
        prompt: &str,
    ) -> TurnTexts {
        // There are no messages before the first prompt.
        if number == 0 {
            return TurnTexts::default();
        }
        let Some(stretches) = self.read(dir, transcript) else { return TurnTexts::default() };
        stretches.messages(transcript, number, prompt)
    }

    /// Reads new messages of the turn that was read last.
    pub(crate) fn late_messages(
        &self,
        dir: &DataDir,
        transcript: &Transcript,
    ) -> Option<(i64, TurnMessages)> {
        let number = transcript.turn?;
        self.read(dir, transcript)?.before_the_next_prompt(transcript, number).map(|found| (number, found))
    }

    /// Whether the closing message of a turn can come from this transcript alone.
    pub(crate) fn may_have_closing(&self, dir: &DataDir, transcript: &Transcript) -> bool {
        transcript::alone_has_closing(transcript.host) && self.gate(dir, transcript).is_some()
    }

    /// Whether a transcript ends in a tool call or a question that is not answered yet.
    pub(crate) fn awaits_answer(&self, dir: &DataDir, transcript: &Transcript) -> bool {
        let host = transcript.host;
        let lines =
            self.gate(dir, transcript).and_then(|_| read_lines(&transcript.path, 0, MAX_END_BYTES).ok());
        let Some(lines) = lines else { return false };
        let mut open: Vec<String> = Vec::new();
        for document in lines.bytes.split_inclusive(|byte| *byte == b'\n').filter_map(document) {
            let entry = transcript::read(host, &document);
            if matches!(entry, Some(Entry { line: Line::Asked { .. }, .. })) {
                open.clear();
            }
            let calls = transcript::calls(host, &document);
            open.extend(calls.made);
            open.retain(|id| !calls.returned.contains(id));
        }
        !open.is_empty()
    }

    /// `None` if nothing of this transcript may be read.
    fn gate<'a>(&'a self, dir: &'a DataDir, transcript: &Transcript) -> Option<Gate<'a>> {
        let Self::Read { capture, home } = self else { return None };
        let gate = Gate { dir, capture, home: home.as_deref() };
        let may_read =
            transcript::is_known(transcript.host) && gate.lets_through(Path::new(&transcript.root));
        may_read.then_some(gate)
    }

    fn read(&self, dir: &DataDir, transcript: &Transcript) -> Option<Stretches> {
        let gate = self.gate(dir, transcript)?;
        let lines = if transcript.is_past {
            read_next_lines(&transcript.path, transcript.offset, MAX_PAST_BYTES)
        } else {
            read_lines(&transcript.path, transcript.offset, MAX_READ)
        };
        match lines {
            Ok(lines) => Some(Stretches::new(transcript.host, &lines, &gate)),
            Err(error) => {
                // Hosts delete old transcripts, and some never write one.
                if !is_absent(&error) {
                    log::info(dir, "observer", &format!("a transcript was skipped: {error}"));
                }
                None
            }
        }
    }
}

struct Gate<'a> {
    dir: &'a DataDir,
    capture: &'a Capture,
    home: Option<&'a Path>,
}

impl Gate<'_> {
    /// If it is unknown whether something may be read, it is not read.
    fn lets_through(&self, directory: &Path) -> bool {
        let is_paused = pause::read(self.dir).map_or(true, |pause| pause.covers(directory));
        let paths = Paths { home: self.home, real: real_path };
        !is_paused && capture::excluded(directory, self.capture, paths).is_none()
    }
}

/// A part of a transcript, split at every prompt.
#[derive(Debug)]
struct Stretches {
    /// The first one began before this part.
    all: Vec<TurnSlice>,
    end: u64,
}

#[derive(Debug, Default)]
struct TurnSlice {
    begin: u64,
    /// `None` if the prompt is before this part.
    asked: Option<String>,
    /// Nothing of it may be kept.
    withheld: bool,
    said: Vec<Said>,
    digest: Option<String>,
    /// The call id and the command.
    running: Option<(String, String)>,
}

impl Stretches {
    fn new(host: Host, lines: &Lines, gate: &Gate<'_>) -> Self {
        let mut all = vec![TurnSlice { begin: lines.from, ..TurnSlice::default() }];
        let mut known: Option<(String, bool)> = None;
        // The directory rarely changes, and checking one may require reading files.
        let mut is_allowed = |cwd: Option<String>| match (cwd, &known) {
            (None, _) => true,
            (Some(cwd), Some((last, allowed))) if *last == cwd => *allowed,
            (Some(cwd), _) => {
                let allowed = gate.lets_through(Path::new(&cwd));
                known = Some((cwd, allowed));
                allowed
            }
        };
        let mut begin = lines.from;
        for line in lines.bytes.split_inclusive(|byte| *byte == b'\n') {
            let next = begin + line.len() as u64;
            if let Some(Entry { line, cwd, at }) = entry(host, line) {
                let allowed = is_allowed(cwd);
                match line {
                    Line::Asked { text, withheld } => {
                        let withheld = withheld || !allowed;
                        let asked = Some(clean_text(&text));
                        all.push(TurnSlice { begin, asked, withheld, ..TurnSlice::default() });
                    }
                    Line::Said(text) if allowed => {
                        if let Some(stretch) = all.last_mut().filter(|stretch| !stretch.withheld) {
                            stretch.say(Said { text: clean(&text, TEXT), at });
                        }
                    }
                    Line::Digest(text) if allowed => {
                        if let Some(stretch) = all.last_mut() {
                            stretch.digest = Some(clean(&text, DIGEST));
                        }
                    }
                    Line::Called { id, command } if allowed => {
                        if let Some(stretch) = all.last_mut().filter(|stretch| !stretch.withheld) {
                            stretch.running = Some((id, clean(&command, COMMAND)));
                        }
                    }
                    Line::Returned(ids) => {
                        if let Some(stretch) = all.last_mut() {
                            stretch.running.take_if(|(id, _)| ids.contains(id));
                        }
                    }
                    Line::Said(_) | Line::Digest(_) | Line::Called { .. } => {}
                }
            }
            begin = next;
        }
        Self { all, end: lines.end() }
    }

    fn messages(&self, transcript: &Transcript, number: i64, prompt: &str) -> TurnTexts {
        if transcript.turn == Some(number) {
            return TurnTexts { late: None, own: self.before_the_next_prompt(transcript, number) };
        }
        let late = transcript.turn.and_then(|before| {
            let found = self.before_the_next_prompt(transcript, before)?;
            Some((before, found)).filter(|(_, found)| !found.is_empty())
        });
        let own = self.position(transcript, number, prompt).and_then(|at| self.found(at, transcript, number));
        TurnTexts { late, own }
    }

    fn before_the_next_prompt(&self, transcript: &Transcript, number: i64) -> Option<TurnMessages> {
        self.found(0, transcript, number)
    }

    /// The stretch that begins with `prompt`. A transcript that was never read may begin long before the captured
    /// turns and contain the same words, so it is searched from its end. If the host wrote the prompt in other words,
    /// the latest turn is the last stretch.
    fn position(&self, transcript: &Transcript, number: i64, prompt: &str) -> Option<usize> {
        let is_it = |stretch: &TurnSlice| stretch.begins_with(prompt);
        let found = if transcript.turn.is_some() || transcript.is_past {
            self.all.iter().position(is_it)
        } else {
            let later = usize::try_from(transcript.latest_turn - number).unwrap_or_default();
            let until = self.all.len().saturating_sub(later);
            // The prompt of the turn that just began may not be written yet.
            self.all[..until].iter().rposition(is_it).or_else(|| self.all.iter().rposition(is_it))
        };
        let last = self.all.len() - 1;
        let is_last = number == transcript.latest_turn && last > 0 && !self.all[last].withheld;
        found.or_else(|| is_last.then_some(last))
    }

    fn found(&self, position: usize, transcript: &Transcript, number: i64) -> Option<TurnMessages> {
        let stretch = self.all.get(position)?;
        let next = self.all.get(position + 1);
        // Without a prompt after it, a stretch may extend into a later turn, which may be private.
        if next.is_none() && number < transcript.latest_turn && transcript.had_private {
            return None;
        }
        let read = ReadTo {
            path: transcript.path.clone(),
            from: transcript.offset,
            to: next.map_or(self.end, |next| next.begin),
        };
        // A digest of the whole session also covers its private turns.
        let digest = stretch.digest.clone().filter(|digest| !transcript.had_private && !digest.is_empty());
        let running = stretch.running.as_ref().map(|(_, command)| command.clone());
        Some(TurnMessages { said: stretch.said.clone(), digest, running, read })
    }
}

impl TurnSlice {
    fn begins_with(&self, prompt: &str) -> bool {
        !self.withheld && self.asked.as_ref().is_some_and(|asked| beginning(asked) == beginning(prompt))
    }

    fn say(&mut self, said: Said) {
        if !said.text.is_empty() {
            self.said.push(said);
            limit(&mut self.said);
        }
    }
}

/// Keeps as many of the latest texts as fit.
pub(crate) fn limit(said: &mut Vec<Said>) {
    let mut bytes: usize = said.iter().map(|said| said.text.len()).sum();
    let mut surplus = 0;
    while bytes > MAX_SAID {
        bytes -= said[surplus].text.len();
        surplus += 1;
    }
    said.drain(..surplus);
}

impl TurnMessages {
    pub(crate) fn is_empty(&self) -> bool {
        self.said.is_empty() && self.digest.is_none()
    }
}

/// Cuts last, so that a cut cannot hide a secret from the rules.
fn clean(text: &str, limit: ExcerptLimit) -> String {
    Excerpt::shorten(clean_text(text).trim(), limit)
}

fn entry(host: Host, line: &[u8]) -> Option<Entry> {
    transcript::read(host, &document(line)?)
}

fn document(line: &[u8]) -> Option<Document> {
    let mut intake = Intake::default();
    intake.push(line).ok()?;
    intake.finish().ok()
}

/// Enough of a text to recognise it in another one; the rest may have been cut.
pub(crate) fn beginning(text: &str) -> &str {
    prefix(text.trim(), COMPARED)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use remora_core::time::Time;
    use remora_store::pause::Pause;
    use serde_json::json;

    use super::*;

    /// A session's transcript in a file, and the offset up to which it was read.
    struct World {
        _temp: tempfile::TempDir,
        dir: DataDir,
        transcripts: Transcripts,
        transcript: Transcript,
    }

    impl World {
        fn new(lines: &[String]) -> Self {
            let temp = tempfile::tempdir().unwrap();
            let dir = DataDir::new(temp.path().join("data"));
            fs::create_dir(temp.path().join("data")).unwrap();
            let path = temp.path().join("session.jsonl");
            fs::write(&path, lines.concat()).unwrap();
            let transcript = Transcript {
                host: Host::ClaudeCode,
                path,
                offset: 0,
                turn: None,
                latest_turn: 1,
                had_private: false,
                root: "/home/dev/shop".into(),
                is_past: false,
                is_in_work: false,
            };
            Self { _temp: temp, dir, transcripts: Transcripts::allowed_by(&Capture::default()), transcript }
        }

        fn append(&self, lines: &[String]) {
            let path = &self.transcript.path;
            fs::write(path, fs::read_to_string(path).unwrap() + &lines.concat()).unwrap();
        }

        /// The messages of a turn; the next read continues after them.
        fn messages(&mut self, number: i64, prompt: &str) -> Vec<String> {
            let found = self.transcripts.messages(&self.dir, &self.transcript, number, prompt);
            assert_eq!(found.late, None);
            self.go_on(number, found.own)
        }

        fn late_messages(&mut self) -> Vec<String> {
            match self.transcripts.late_messages(&self.dir, &self.transcript) {
                Some((number, found)) => self.go_on(number, Some(found)),
                None => Vec::new(),
            }
        }

        fn go_on(&mut self, number: i64, found: Option<TurnMessages>) -> Vec<String> {
            let Some(TurnMessages { said, read, .. }) = found else { return Vec::new() };
            assert_eq!(read.from, self.transcript.offset);
            (self.transcript.offset, self.transcript.turn) = (read.to, Some(number));
            said.into_iter().map(|said| said.text).collect()
        }
    }

    fn digest(text: &str) -> String {
        json!({ "type": "user", "isCompactSummary": true, "message": { "role": "user", "content": text } })
            .to_string()
            + "\n"
    }

    fn line(kind: &str, text: &str, cwd: &str) -> String {
        let content = json!([{ "type": "text", "text": text }]);
        json!({ "type": kind, "cwd": cwd, "message": { "role": kind, "content": content } }).to_string()
            + "\n"
    }

    fn asked(text: &str) -> String {
        line("user", text, "/home/dev/shop")
    }

    fn said(text: &str) -> String {
        line("assistant", text, "/home/dev/shop")
    }

    const NOTHING: [&str; 0] = [];

    fn called(ids: &[&str]) -> String {
        let blocks: Vec<_> = ids
            .iter()
            .map(|id| json!({ "type": "tool_use", "id": id, "name": "Ask", "input": {} }))
            .collect();
        json!({ "type": "assistant", "message": { "role": "assistant", "content": blocks } }).to_string()
            + "\n"
    }

    fn returned(id: &str) -> String {
        let block = json!({ "type": "tool_result", "tool_use_id": id, "content": "done" });
        json!({ "type": "user", "message": { "role": "user", "content": [block] } }).to_string() + "\n"
    }

    #[test]
    fn a_transcript_that_ends_in_an_unanswered_call_awaits_its_answer() {
        let mut lines = vec![asked("one"), called(&["old"]), asked("two"), said("I look.")];
        for (line, awaits) in [
            (called(&["a", "b"]), true),
            (returned("b"), true),
            (called(&["c"]), true),
            (returned("a"), true),
            (returned("c"), false),
            (said("Done."), false),
            (called(&["d"]), true),
            (asked("[Request interrupted by user]"), true),
            (asked("three"), false),
        ] {
            lines.push(line);
            let world = World::new(&lines);
            assert_eq!(
                world.transcripts.awaits_answer(&world.dir, &world.transcript),
                awaits,
                "{:?}",
                lines.last()
            );
        }
        let world = World::new(&[called(&["a"])]);
        assert!(!Transcripts::Ignored.awaits_answer(&world.dir, &world.transcript));
    }

    #[test]
    fn each_waiting_turn_gets_its_own_messages() {
        let mut world = World::new(&[
            asked("go on"),
            said("One."),
            asked("go on"),
            said("Two."),
            said("Three."),
            asked("and now?"),
            said("Four."),
        ]);
        world.transcript.latest_turn = 3;
        assert_eq!(world.messages(1, "go on"), ["One."]);
        assert_eq!(world.messages(2, "go on"), ["Two.", "Three."]);
        assert_eq!(world.messages(3, "and now?"), ["Four."]);
        assert_eq!(world.messages(3, "and now?"), NOTHING, "nothing twice");
    }

    #[test]
    fn turns_before_the_first_captured_one_are_not_read() {
        let mut world = World::new(&[
            asked("hello"),
            said("Old."),
            asked("hello"),
            said("Older turn."),
            asked("hello"),
            said("New."),
        ]);
        assert_eq!(world.messages(1, "hello"), ["New."]);
    }

    #[test]
    fn a_turn_is_found_before_the_next_prompt_is_written() {
        let mut world = World::new(&[asked("one"), said("One.")]);
        world.transcript.latest_turn = 2;
        assert_eq!(world.messages(1, "one"), ["One."]);
    }

    #[test]
    fn a_prompt_in_other_words_is_taken_for_the_last_one() {
        let lines = [asked("before"), said("Old."), asked("expanded by the host"), said("New.")];
        assert_eq!(World::new(&lines).messages(1, "/expand"), ["New."]);
        let mut waiting = World::new(&lines);
        waiting.transcript.latest_turn = 2;
        assert_eq!(waiting.messages(1, "/expand"), NOTHING, "another turn came after it");
    }

    #[test]
    fn late_messages_belong_to_the_turn_before_the_next_prompt() {
        let mut world = World::new(&[asked("one"), said("One.")]);
        assert_eq!(world.messages(1, "one"), ["One."]);
        assert_eq!(world.late_messages(), NOTHING);
        world.append(&[said("Late.")]);
        assert_eq!(world.late_messages(), ["Late."]);
        assert_eq!(world.late_messages(), NOTHING, "nothing twice");
        world.append(&[said("Later."), asked("two"), said("Two.")]);
        world.transcript.latest_turn = 2;
        let found = world.transcripts.messages(&world.dir, &world.transcript, 2, "two");
        let texts =
            |found: &TurnMessages| found.said.iter().map(|said| said.text.clone()).collect::<Vec<_>>();
        let (before, late) = found.late.unwrap();
        assert_eq!((before, texts(&late)), (1, vec!["Later.".to_owned()]));
        assert_eq!(texts(&found.own.unwrap()), ["Two."]);
    }

    #[test]
    fn nothing_of_a_private_turn_is_read() {
        let mut world = World::new(&[
            asked("one"),
            said("One."),
            asked("<private>the merger</private>"),
            said("The merger."),
            asked("three"),
            said("Three."),
        ]);
        (world.transcript.latest_turn, world.transcript.had_private) = (3, true);
        assert_eq!(world.messages(1, "one"), ["One."]);
        assert_eq!(world.late_messages(), NOTHING);
        assert_eq!(world.messages(3, "three"), ["Three."]);
    }

    #[test]
    fn a_digest_belongs_to_the_turn_it_came_in_and_is_private_with_any_of_them() {
        let lines = [asked("one"), said("One."), digest("1. Request: fix it"), said("Two."), asked("two")];
        for had_private in [false, true] {
            let mut world = World::new(&lines);
            (world.transcript.latest_turn, world.transcript.had_private) = (2, had_private);
            let found = world.transcripts.messages(&world.dir, &world.transcript, 1, "one").own.unwrap();
            assert_eq!(found.digest.as_deref(), (!had_private).then_some("1. Request: fix it"));
            assert_eq!(found.said.len(), 2);
        }
    }

    #[test]
    fn a_turn_before_a_possibly_private_one_is_read_only_up_to_the_next_prompt() {
        let mut world = World::new(&[asked("one"), said("One."), said("Perhaps private.")]);
        (world.transcript.latest_turn, world.transcript.had_private) = (2, true);
        assert_eq!(world.messages(1, "one"), NOTHING);
        world.append(&[asked("<private>x</private>")]);
        assert_eq!(world.messages(1, "one"), ["One.", "Perhaps private."]);
    }

    #[test]
    fn a_private_prompt_in_other_words_is_never_taken_for_the_latest_one() {
        let mut world =
            World::new(&[asked("old"), said("Old."), asked("<private>x</private>"), said("Secret.")]);
        assert_eq!(world.messages(1, "/expand"), NOTHING);
    }

    #[test]
    fn nothing_is_read_if_nothing_may_be_captured() {
        let lines = [asked("one"), said("One."), line("assistant", "Elsewhere.", "/srv/secret/app")];
        let mut world = World::new(&lines);
        let excluding =
            |glob: &str| Capture { exclude_projects: vec![glob.to_owned()], ..Capture::default() };
        world.transcripts = Transcripts::allowed_by(&excluding("/srv/secret"));
        assert_eq!(world.messages(1, "one"), ["One."]);
        world = World::new(&lines);
        world.transcripts = Transcripts::allowed_by(&excluding("/home/dev/*"));
        assert_eq!(world.messages(1, "one"), NOTHING);
        world = World::new(&lines);
        world.transcripts =
            Transcripts::allowed_by(&Capture { exclusions_unknown: true, ..Capture::default() });
        assert_eq!(world.messages(1, "one"), NOTHING);
        world = World::new(&lines);
        pause::write(&world.dir, &Pause { everywhere_since: Some(Time(1)), ..Pause::default() }).unwrap();
        assert_eq!(world.messages(1, "one"), NOTHING);
        world = World::new(&lines);
        world.transcripts = Transcripts::Ignored;
        assert_eq!(world.messages(1, "one"), NOTHING);
    }

    #[test]
    fn texts_are_cleaned_and_cut() {
        let secret = ["ghp_", "16C7e42F292c6912E7710c838347Ae178B4a"].concat();
        let mut world = World::new(&[
            asked("one"),
            said(&format!("The key is {secret}. <system-reminder>x</system-reminder>")),
            said("<remora-context>old memory</remora-context>"),
            said("A <private>b</private>c."),
            said(&format!("Long {}", "x".repeat(100_000))),
        ]);
        let texts = world.messages(1, "one");
        assert_eq!(texts.len(), 3, "{texts:?}");
        assert!(!texts[0].contains(&secret) && texts[0].ends_with("]."), "{}", texts[0]);
        assert_eq!(texts[1], "A c.");
        assert!(texts[2].len() < 13_000 && texts[2].contains("bytes cut"));
    }

    #[test]
    fn the_latest_texts_of_a_long_turn_are_kept() {
        let mut lines = vec![asked("one")];
        lines.extend((0..100).map(|number| said(&format!("{number} {}", "x".repeat(2000)))));
        let texts = World::new(&lines).messages(1, "one");
        assert!(texts.iter().map(String::len).sum::<usize>() <= MAX_SAID && texts.len() > 25);
        assert!(texts.last().unwrap().starts_with("99 "));
    }

    #[test]
    fn a_missing_or_foreign_file_is_skipped() {
        let mut world = World::new(&[]);
        assert_eq!(world.messages(1, "one"), NOTHING);
        fs::write(&world.transcript.path, b"PK\x03\x04\n{\"type\":\n[]\n{}\n\xff\n").unwrap();
        assert_eq!(world.messages(1, "one"), NOTHING);
        fs::remove_file(&world.transcript.path).unwrap();
        assert_eq!(world.messages(1, "one"), NOTHING);
        fs::create_dir(&world.transcript.path).unwrap();
        assert_eq!(world.messages(1, "one"), NOTHING);
    }

    #[test]
    fn a_line_that_is_still_being_written_waits_for_the_next_reading() {
        let mut world = World::new(&[asked("one"), said("One."), said("Two.").trim_end().to_owned()]);
        assert_eq!(world.messages(1, "one"), ["One."]);
        world.append(&["\n".to_owned()]);
        assert_eq!(world.late_messages(), ["Two."]);
    }
}
