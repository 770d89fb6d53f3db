import type { ModelChoice } from "@deltawire/tasks/chats";
import { DemoHint, isOnlyDemo } from "../chat/suggestions.tsx";
import { usePage } from "../hooks/use-page.ts";
import { Fold, Status, type StatusKind } from "../parts/signs.tsx";
import { Button } from "../parts/button.tsx";
import { useFormat } from "../words/format.ts";
import { useWords } from "../words/use-words.ts";
import { healthOf, type Health, type UpstreamStatus } from "./read-status.ts";
import { upstreamWords, type UpstreamWords } from "./words.ts";

interface UpstreamCardProps {
  upstream: UpstreamStatus;
  /** What is known of models, by their names. */
  choices: readonly ModelChoice[];
}

export function UpstreamCard({ upstream, choices }: UpstreamCardProps) {
  const words = useWords(upstreamWords);
  const format = useFormat();
  const { name, base_url, speaks, profile, key_variable, last_good_at, last_bad_at, models } =
    upstream;
  const { paused_models } = upstream;
  const isOfPaused = paused_models.some((one) => one.last_problem === upstream.last_problem);
  const health = healthOf(upstream);
  return (
    <section className="upstreams-card" aria-label={name}>
      <header>
        <h2 dir="auto">{name}</h2>
        <Status kind={kinds[health]} label={healthWords(health, words)} />
      </header>
      <p className="upstreams-quiet">
        <code>{base_url}</code> · {speaks === "chat" ? words.speaksChat : words.speaksResponses} ·{" "}
        {words.profile(profile)}
      </p>
      {name === "demo" && isOnlyDemo({ models: choices }) && (
        <DemoHint className="upstreams-quiet" />
      )}
      {health === "no key" && key_variable !== undefined && (
        <p className="upstreams-problem">{words.setKey(key_variable)}</p>
      )}
      {upstream.key_problem !== undefined && (
        <p className="upstreams-problem" data-kind="failed" dir="auto">
          {upstream.key_problem}
        </p>
      )}
      {paused_models.map(({ model, last_problem }) => (
        <p key={model} className="upstreams-problem" dir="auto">
          {words.pausedModel(model, last_problem)}
        </p>
      ))}
      {(health === "failing" || health === "left alone") &&
        upstream.last_problem !== undefined &&
        !isOfPaused && (
          <p className="upstreams-problem" dir="auto">
            {upstream.last_problem}
          </p>
        )}
      {upstream.listing.is === "failed" && (
        <p className="upstreams-problem">{words.listingFailed(upstream.listing.why)}</p>
      )}
      {upstream.listing.is === "asking" && <p className="upstreams-quiet">{words.listingAsking}</p>}
      <p className="upstreams-quiet">
        {last_good_at !== undefined && words.lastGood(format.exactly(last_good_at))}
        {last_good_at !== undefined && last_bad_at !== undefined && " · "}
        {last_bad_at !== undefined && words.lastBad(format.exactly(last_bad_at))}
      </p>
      {models.length === 0 ? (
        <p className="upstreams-quiet">{words.noModels}</p>
      ) : (
        <Fold summary={modelsSummary(upstream, words)}>
          <ul className="upstreams-models">
            {models.map((model) => (
              <Model
                key={model}
                model={model}
                upstream={name}
                choices={choices}
                problem={upstream.failing_models.find((one) => one.model === model)?.last_problem}
                words={words}
              />
            ))}
          </ul>
        </Fold>
      )}
    </section>
  );
}

function modelsSummary({ models, failing_models: failing }: UpstreamStatus, words: UpstreamWords) {
  const count = words.models(models.length);
  return failing.length === 0 ? count : `${count}, ${words.failingModels(failing.length)}`;
}

interface ModelProps {
  model: string;
  upstream: string;
  choices: readonly ModelChoice[];
  /** Of its last request, if that failed. */
  problem: string | undefined;
  words: UpstreamWords;
}

function Model({ model, upstream, choices, problem, words }: ModelProps) {
  const page = usePage();
  const full = `${upstream}/${model}`;
  const choice = choices.find((each) => each.name === full || each.name === model);
  const takes = [
    choice?.images === true ? words.images : "",
    choice?.audio === true ? words.audio : "",
    choice?.files === true ? words.files : "",
    choice?.tools === true ? words.tools : "",
  ].filter((kind) => kind !== "");
  return (
    <li>
      <code>{model}</code>
      {problem !== undefined && <Status kind="failed" label={words.failing} />}
      {takes.length > 0 && <small>{words.takes(takes.join(", "))}</small>}
      {choice !== undefined && (
        <Button
          small
          kind="ghost"
          icon="quote"
          aria-label={words.chatWith(choice.name)}
          title={words.chatWith(choice.name)}
          onClick={() => void page.newChat({ model: choice.name })}
        />
      )}
      {problem !== undefined && (
        <p className="upstreams-problem" dir="auto">
          {problem}
        </p>
      )}
    </li>
  );
}

const kinds: Readonly<Record<Health, StatusKind>> = {
  well: "ok",
  unknown: "stopped",
  "no key": "failed",
  "key rejected": "failed",
  failing: "waiting",
  "left alone": "failed",
};

function healthWords(health: Health, words: UpstreamWords): string {
  const all: Readonly<Record<Health, string>> = {
    well: words.well,
    unknown: words.unknown,
    "no key": words.noKey,
    "key rejected": words.keyRejected,
    failing: words.failing,
    "left alone": words.leftAlone,
  };
  return all[health];
}
