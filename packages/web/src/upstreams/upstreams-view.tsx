import { useEffect, useState } from "react";
import { useCell } from "../hooks/use-cell.ts";
import { useAppStore } from "../hooks/use-app-store.ts";
import { Button } from "../ui/button.tsx";
import { EmptyState, Spinner, StatusBadge } from "../ui/indicators.tsx";
import { useMessages } from "../messages/use-messages.ts";
import { gatewayErrorMessages } from "../text/gateway-error-translations.ts";
import { ConnectAgent } from "./connect-agent.tsx";
import {
  createGatewayStatusStore,
  type LessonStatus,
  type McpServerStatus,
  type GatewayStatusStore,
} from "./gateway-status.ts";
import { UpstreamCard } from "./upstream-card.tsx";
import { upstreamMessages } from "./messages.ts";
import "./upstreams.css";

const pollIntervalMs = 10_000;

/** Shows the status of upstreams and MCP servers, what was learned from rejected requests, and how to connect coding agents. */
export function UpstreamsView() {
  const app = useAppStore();
  const t = useMessages(upstreamMessages);
  const { formatError } = useMessages(gatewayErrorMessages);
  const [statusStore] = useState(() => createGatewayStatusStore(app));
  const state = useCell(statusStore.state);
  const choices = useCell(app.choices);
  usePolling(statusStore);
  if (state.status === "loading")
    return (
      <div className="upstreams">
        <Spinner label={t.loading} />
      </div>
    );
  if (state.status === "failed")
    return (
      <div className="upstreams">
        <EmptyState title={t.failed} text={formatError(state.message)}>
          <Button onClick={() => void statusStore.reload()}>{t.refresh}</Button>
        </EmptyState>
      </div>
    );
  const { upstreams, mcp, lessons, connection } = state.report;
  return (
    <div className="upstreams">
      <header className="upstreams-header">
        <div>
          <h1>{t.title}</h1>
          <p>{t.intro}</p>
        </div>
        <Button icon="redo" onClick={() => void statusStore.reload()}>
          {t.refresh}
        </Button>
      </header>
      {upstreams.length === 0 && <EmptyState title={t.emptyTitle} text={t.empty} />}
      {upstreams.map((upstream) => (
        <UpstreamCard key={upstream.name} upstream={upstream} models={choices?.models ?? []} />
      ))}
      <McpServers servers={mcp} />
      <ConnectAgent
        connection={connection}
        onChoose={(change) => void app.attempt(() => statusStore.chooseConnection(change))}
      />
      <LessonList
        lessons={lessons}
        onDelete={(upstream) => void app.attempt(() => statusStore.deleteLessons(upstream))}
      />
    </div>
  );
}

function usePolling(statusStore: GatewayStatusStore): void {
  useEffect(() => {
    void statusStore.reload();
    const timer = setInterval(() => {
      if (!document.hidden) void statusStore.refresh();
    }, pollIntervalMs);
    return () => clearInterval(timer);
  }, [statusStore]);
}

/** The configured MCP servers and their problems. */
function McpServers({ servers }: { servers: readonly McpServerStatus[] }) {
  const t = useMessages(upstreamMessages);
  if (servers.length === 0) return null;
  return (
    <section className="upstreams-card" aria-label={t.mcp}>
      <header>
        <h2>{t.mcp}</h2>
      </header>
      <ul className="upstreams-list">
        {servers.map(({ name, problem }) => (
          <li key={name}>
            <code>{name}</code>
            <StatusBadge
              kind={problem === undefined ? "ok" : "failed"}
              label={problem === undefined ? t.mcpConfigured : t.mcpProgramNotFound}
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

interface LessonListProps {
  lessons: readonly LessonStatus[];
  onDelete: (upstream?: string) => void;
}

function LessonList({ lessons, onDelete }: LessonListProps) {
  const t = useMessages(upstreamMessages);
  const byUpstream = Map.groupBy(lessons, ({ upstream }) => upstream);
  return (
    <section className="upstreams-card" aria-label={t.lessons}>
      <header>
        <h2>{t.lessons}</h2>
        {byUpstream.size > 1 && (
          <Button small onClick={() => onDelete()}>
            {t.deleteAllLessons}
          </Button>
        )}
      </header>
      <p className="upstreams-muted">{lessons.length === 0 ? t.noLessons : t.lessonsIntro}</p>
      {[...byUpstream].map(([upstream, upstreamLessons]) => (
        <div key={upstream} className="upstreams-lessons">
          <header>
            <h3>{upstream}</h3>
            <Button small kind="ghost" onClick={() => onDelete(upstream)}>
              {t.deleteLessons}
            </Button>
          </header>
          <ul>
            {upstreamLessons.map(({ model, code, description, provider_message }) => (
              <li key={`${model} ${code} ${description}`}>
                <code>{model}</code> {description}
                <small dir="auto">{t.upstreamReply(provider_message)}</small>
              </li>
            ))}
          </ul>
        </div>
      ))}
    </section>
  );
}
