//! Costs of memory, from real rows: model calls and injections.

use std::time::Duration;

use remora_app::ProjectSelector;
use remora_app::costs::{CostsRequest, costs};
use remora_core::event::Body;
use remora_core::memory::Memory;
use remora_core::settings::Settings;
use remora_core::time::Time;
use remora_store::injections::{Moment, Retrieval};
use remora_store::{Call, CallOutcome, SessionQuery};

use crate::memory::World;

fn call(model: &str, tokens: u64, cost_usd: Option<f64>, at: Time) -> Call {
    Call {
        provider: "openai".to_owned(),
        model: model.to_owned(),
        input_tokens: tokens,
        output_tokens: tokens / 10,
        cached_tokens: 0,
        cost_usd,
        estimated: false,
        outcome: CallOutcome::Answered,
        at,
    }
}

/// A turn for which a model was called.
fn spend(world: &mut World, project: &str, call: &Call) {
    let body = Body::PromptSubmitted { text: "why does the parser loop".to_owned() };
    world.hook(project, &format!("{project}-spends"), body, call.at);
    let batch = world
        .store
        .queue()
        .claim("test", 100, Duration::ZERO, Time::now(), &mut |_, _| false)
        .unwrap()
        .unwrap();
    world.store.queue().confirm(&batch, &Memory::default(), Some(call), call.at).unwrap();
}

fn inject(world: &mut World, moment: Moment, tokens: u64, at: Time) {
    let session = world.store.sessions().list(&SessionQuery::latest(1)).unwrap()[0].id;
    let retrieval = Retrieval {
        session,
        agent: String::new(),
        moment,
        prompt: String::new(),
        tokens,
        ms: 4,
        degraded: None,
        items: Vec::new(),
        at,
    };
    world.store.injections().log(&retrieval).unwrap();
}

#[test]
fn costs_are_listed_by_day_provider_model_and_project_and_injections_separately() {
    let mut world = World::new();
    let now = Time::now();
    let yesterday = Time(now.start_of_day().0 - 1);
    let long_ago = now.before(Duration::from_hours(24 * 40));
    spend(&mut world, "clock", &call("small", 5_000, Some(1.0), long_ago));
    spend(&mut world, "clock", &call("small", 1_000, Some(0.5), yesterday));
    spend(&mut world, "clock", &call("small", 2_000, Some(0.25), now));
    spend(&mut world, "ferry", &call("own", 10_000, None, now));
    inject(&mut world, Moment::Start, 900, long_ago);
    inject(&mut world, Moment::Start, 300, yesterday);
    inject(&mut world, Moment::Prompt, 100, now);
    let mut settings = Settings::default();
    settings.costs.host_input_price = 5.0;
    let ask = |selector: ProjectSelector| {
        costs(&world.rt(&settings, now), &CostsRequest { selector, days: 7 }).unwrap()
    };

    let all = ask(ProjectSelector::All);
    assert_eq!(all.days.len(), 7);
    let of_day = |place: usize| (all.days[place].spent.tokens(), all.days[place].injected.tokens);
    assert_eq!([of_day(4), of_day(5), of_day(6)], [(0, 0), (1_100, 300), (13_200, 100)]);
    assert_eq!((all.total.calls, all.total.tokens(), all.total.unpriced), (3, 14_300, 1));
    assert!((all.total.usd - 0.75).abs() < 1e-9);
    let names = |shares: &[remora_app::costs::Share]| -> Vec<(String, u64)> {
        shares.iter().map(|share| (share.name.clone(), share.spent.tokens())).collect()
    };
    assert_eq!(names(&all.providers), [("openai".to_owned(), 14_300)]);
    assert_eq!(
        names(&all.models),
        [("small (openai)".to_owned(), 3_300), ("own (openai)".to_owned(), 11_000)],
        "the dearest first"
    );
    assert_eq!(names(&all.projects), [("clock".to_owned(), 3_300), ("ferry".to_owned(), 11_000)]);
    assert_eq!((all.overhead.total.times, all.overhead.total.tokens), (2, 400));
    assert_eq!(all.overhead.usd(400), Some(0.002));
    assert_eq!(all.budget.spent_today.tokens, 13_200);
    assert!(!all.budget.is_used_up());

    let one = ask(ProjectSelector::Project("clock".to_owned()));
    assert_eq!((one.total.calls, one.total.tokens()), (2, 3_300));
    assert_eq!(one.budget.spent_today.tokens, 13_200, "a budget is for all projects");

    settings.budget.daily_tokens = 13_000;
    settings.costs.host_input_price = 0.0;
    let over =
        costs(&world.rt(&settings, now), &CostsRequest { selector: ProjectSelector::All, days: 0 }).unwrap();
    assert!(over.budget.is_used_up());
    assert_eq!((over.days.len(), over.overhead.usd(400)), (1, None));
}
