import { useEffect, useState } from "react";
import { useCell } from "../hooks/use-cell.ts";
import { usePage } from "../hooks/use-page.ts";
import { Button } from "../parts/button.tsx";
import { Empty, Spinner, Status } from "../parts/signs.tsx";
import { useWords } from "../words/use-words.ts";
import { ConnectCodex } from "./connect-codex.tsx";
import {
  createStatusReader,
  type Lesson,
  type McpStatus,
  type StatusReader,
} from "./read-status.ts";
import { UpstreamCard } from "./upstream-card.tsx";
import { upstreamWords } from "./words.ts";
import "./upstreams.css";

const againMs = 10_000;

/** What answers behind the gateway, how it is doing, and how to connect Codex to it. */
export function Upstreams() {
  const page = usePage();
  const words = useWords(upstreamWords);
  const [reader] = useState(() => createStatusReader(page));
  const state = useCell(reader.state);
  const choices = useCell(page.choices);
  useReadAgain(reader);
  if (state.is === "loading")
    return (
      <div className="upstreams">
        <Spinner label={words.loading} />
      </div>
    );
  if (state.is === "failed")
    return (
      <div className="upstreams">
        <Empty title={words.failed} text={state.message}>
          <Button onClick={() => void reader.read()}>{words.refresh}</Button>
        </Empty>
      </div>
    );
  const { upstreams, mcp, lessons, codex } = state.status;
  return (
    <div className="upstreams">
      <header className="upstreams-head">
        <div>
          <h1>{words.title}</h1>
          <p>{words.intro}</p>
        </div>
        <Button icon="redo" onClick={() => void reader.read()}>
          {words.refresh}
        </Button>
      </header>
      {upstreams.length === 0 && <Empty title={words.emptyTitle} text={words.empty} />}
      {upstreams.map((upstream) => (
        <UpstreamCard key={upstream.name} upstream={upstream} choices={choices?.models ?? []} />
      ))}
      <McpServers servers={mcp} />
      <ConnectCodex
        codex={codex}
        onModel={(model) => void page.attempt(() => reader.chooseModel(model))}
      />
      <Lessons
        lessons={lessons}
        onForget={(upstream) => void page.attempt(() => reader.forgetLessons(upstream))}
      />
    </div>
  );
}

function useReadAgain(reader: StatusReader): void {
  useEffect(() => {
    void reader.read();
    const timer = setInterval(() => {
      if (!document.hidden) void reader.look();
    }, againMs);
    return () => clearInterval(timer);
  }, [reader]);
}

/** The configured servers of tools, with what is known to be wrong with them. */
function McpServers({ servers }: { servers: readonly McpStatus[] }) {
  const words = useWords(upstreamWords);
  if (servers.length === 0) return null;
  return (
    <section className="upstreams-card" aria-label={words.mcp}>
      <header>
        <h2>{words.mcp}</h2>
      </header>
      <ul className="upstreams-models">
        {servers.map(({ name, problem }) => (
          <li key={name}>
            <code>{name}</code>
            <Status
              kind={problem === undefined ? "ok" : "failed"}
              label={problem === undefined ? words.mcpConfigured : words.mcpMissing}
            />
            {problem !== undefined && (
              <p className="upstreams-problem" dir="auto">
                {problem}
              </p>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

interface LessonsProps {
  lessons: readonly Lesson[];
  onForget: (upstream?: string) => void;
}

function Lessons({ lessons, onForget }: LessonsProps) {
  const words = useWords(upstreamWords);
  const byUpstream = Map.groupBy(lessons, ({ upstream }) => upstream);
  return (
    <section className="upstreams-card" aria-label={words.lessons}>
      <header>
        <h2>{words.lessons}</h2>
        {byUpstream.size > 1 && (
          <Button small onClick={() => onForget()}>
            {words.forgetAll}
          </Button>
        )}
      </header>
      <p className="upstreams-quiet">
        {lessons.length === 0 ? words.noLessons : words.lessonsIntro}
      </p>
      {[...byUpstream].map(([upstream, those]) => (
        <div key={upstream} className="upstreams-lessons">
          <header>
            <h3>{upstream}</h3>
            <Button small kind="ghost" onClick={() => onForget(upstream)}>
              {words.forget}
            </Button>
          </header>
          <ul>
            {those.map(({ model, code, what, said }) => (
              <li key={`${model} ${code} ${what}`}>
                <code>{model}</code> {what}
                <small dir="auto">{words.said(said)}</small>
              </li>
            ))}
          </ul>
        </div>
      ))}
    </section>
  );
}
