//! Memory as a readable document: one section per project, facts first, then what was learned, by day.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::{FactLine, Line, ObservationLine, SummaryLine};

/// Lines of one project, in their original order.
#[derive(Debug, Default)]
struct MarkdownSection<'a> {
    facts: Vec<&'a FactLine>,
    days: BTreeMap<String, Day<'a>>,
}

#[derive(Debug, Default)]
struct Day<'a> {
    observations: Vec<&'a ObservationLine>,
    summaries: Vec<&'a SummaryLine>,
}

/// Renders lines that refer to projects by uuid. Messages are left out: the document is about what was learned.
pub fn render(lines: &[Line]) -> String {
    let mut names: Vec<(String, &str)> = Vec::new();
    let mut sections: BTreeMap<Option<usize>, MarkdownSection<'_>> = BTreeMap::new();
    for line in lines {
        if let Line::Project(project) = line {
            names.push((project.uuid.unwrap_or_default().to_string(), &project.name));
        }
    }
    let place = |project: &Option<String>| names.iter().position(|(uuid, _)| Some(uuid) == project.as_ref());
    for line in lines {
        match line {
            Line::Fact(fact) if fact.until.is_none() => {
                sections.entry(place(&fact.project)).or_default().facts.push(fact);
            }
            Line::Observation(observation) if observation.superseded_by.is_none() => {
                let section = sections.entry(place(&observation.project)).or_default();
                day(section, line).observations.push(observation);
            }
            Line::Summary(summary) if !summary.earlier => {
                let section = sections.entry(place(&summary.project)).or_default();
                day(section, line).summaries.push(summary);
            }
            _ => {}
        }
    }
    let mut text = "# Memory\n".to_owned();
    for (place, section) in &sections {
        let name = place.map_or("Everywhere", |place| names[place].1);
        let _ = write!(text, "\n## {}\n", one_line(name));
        write_section(&mut text, section);
    }
    text
}

fn day<'a, 'b>(section: &'b mut MarkdownSection<'a>, line: &Line) -> &'b mut Day<'a> {
    let date = line.date().map_or_else(|| "undated".to_owned(), |date| date.format_utc("%Y-%m-%d"));
    section.days.entry(date).or_default()
}

fn write_section(text: &mut String, section: &MarkdownSection<'_>) {
    if !section.facts.is_empty() {
        text.push('\n');
    }
    for fact in &section.facts {
        let _ = writeln!(text, "- **{}**: {} ({})", one_line(&fact.key), one_line(&fact.value), fact.source);
    }
    for (date, day) in section.days.iter().rev() {
        let _ = write!(text, "\n### {date}\n");
        for summary in &day.summaries {
            let _ = write!(text, "\n#### {}\n", one_line(&summary.request));
            for (label, part) in [
                ("Investigated", &summary.investigated),
                ("Learned", &summary.learned),
                ("Completed", &summary.completed),
                ("Next", &summary.next_steps),
                ("Notes", &summary.notes),
            ] {
                if !part.trim().is_empty() {
                    let _ = write!(text, "\n{label}: {}\n", part.trim());
                }
            }
        }
        for observation in &day.observations {
            write_observation(text, observation);
        }
    }
}

fn write_observation(text: &mut String, observation: &ObservationLine) {
    let emoji = observation.kind.emoji();
    let _ = write!(text, "\n#### {emoji} {}\n", one_line(&observation.title));
    for part in [&observation.subtitle, &observation.text] {
        if !part.trim().is_empty() {
            let _ = write!(text, "\n{}\n", part.trim());
        }
    }
    if !observation.facts.is_empty() {
        text.push('\n');
    }
    for fact in &observation.facts {
        let _ = writeln!(text, "- {}", one_line(fact));
    }
    for (label, files) in [("Changed", &observation.files_modified), ("Read", &observation.files_read)] {
        if !files.is_empty() {
            let files: Vec<String> = files.iter().map(|file| format!("`{}`", one_line(file))).collect();
            let _ = write!(text, "\n{label}: {}\n", files.join(", "));
        }
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_has_a_section_a_project_and_a_heading_a_day() {
        let lines: Vec<Line> = [
            r#"{"kind":"project","uuid":"00000000-0000-8000-8000-000000000001","name":"shop"}"#,
            r#"{"kind":"fact","key":"indent","value":"tabs"}"#,
            r#"{"kind":"fact","project":"00000000-0000-8000-8000-000000000001","key":"deploys","value":"on Tuesdays"}"#,
            r#"{"kind":"fact","key":"old","value":"gone","until":"2026-01-01"}"#,
            r#"{"kind":"observation","project":"00000000-0000-8000-8000-000000000001","type":"bugfix","title":"Rounding",
                "text":"Cents were floats.","facts":["Use integers"],"files_modified":["src/total.rs"],"date":"2026-03-10"}"#,
        ]
        .map(|line| Line::parse(line).unwrap())
        .to_vec();
        let expected = "# Memory\n\n## Everywhere\n\n- **indent**: tabs (import)\n\n## shop\n\n- **deploys**: on Tuesdays (import)\n\
            \n### 2026-03-10\n\n#### 🐛 Rounding\n\nCents were floats.\n\n- Use integers\n\nChanged: `src/total.rs`\n";
        assert_eq!(render(&lines), expected);
    }
}
