import { useEffect, useState } from "react";
import { useCell } from "../hooks/use-cell.ts";
import { usePage } from "../hooks/use-page.ts";
import { Button } from "../parts/button.tsx";
import { Empty, Spinner } from "../parts/signs.tsx";
import { useWords } from "../words/use-words.ts";
import { ConnectCodex } from "./connect-codex.tsx";
import { Lessons } from "./lessons.tsx";
import { McpServers } from "./mcp-servers.tsx";
import { createStatusReader, type StatusReader } from "./read-status.ts";
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
