import type { ModelChoice } from "@deltawire/tasks/chats";
import { gatewayErrorMessages } from "../text/gateway-error-translations.ts";
import { DemoHint, hasOnlyDemoModels } from "../chat/suggestions.tsx";
import { useAppStore } from "../hooks/use-app-store.ts";
import { Collapsible, StatusBadge, type StatusKind } from "../ui/indicators.tsx";
import { Button } from "../ui/button.tsx";
import { useFormatter } from "../messages/format.ts";
import { useMessages } from "../messages/use-messages.ts";
import {
  toUpstreamHealthStatus,
  type UpstreamApi,
  type UpstreamHealthStatus,
  type UpstreamStatus,
} from "./gateway-status.ts";
import { upstreamMessages, type UpstreamMessages } from "./messages.ts";

interface UpstreamCardProps {
  upstream: UpstreamStatus;
  /** The models of all upstreams with their capabilities. */
  models: readonly ModelChoice[];
}

export function UpstreamCard({ upstream, models }: UpstreamCardProps) {
  const t = useMessages(upstreamMessages);
  const { formatError, formatCause } = useMessages(gatewayErrorMessages);
  const format = useFormatter();
  const {
    name,
    base_url,
    speaks,
    profile,
    key_variable,
    last_success_at,
    last_failure_at,
    models: modelNames,
    paused_models,
  } = upstream;
  const isShownAsPaused = paused_models.some(
    ({ last_error }) => last_error === upstream.last_error,
  );
  const health = toUpstreamHealthStatus(upstream);
  return (
    <section className="upstreams-card" aria-label={name}>
      <header>
        <h2 dir="auto">{name}</h2>
        <StatusBadge kind={statusKindByHealth[health]} label={formatHealth(health, t)} />
      </header>
      <p className="upstreams-muted">
        <code>{base_url}</code> · {formatApi(speaks, t)} · {t.profile(profile)}
      </p>
      {name === "demo" && hasOnlyDemoModels({ models }) && <DemoHint className="upstreams-muted" />}
      {health === "no key" && key_variable !== undefined && (
        <p className="upstreams-problem">{t.setKey(key_variable)}</p>
      )}
      {upstream.key_error !== undefined && (
        <p className="upstreams-problem" data-kind="failed" dir="auto">
          {formatError(upstream.key_error)}
        </p>
      )}
      {paused_models.map(({ model, last_error }) => (
        <p key={model} className="upstreams-problem" dir="auto">
          {t.pausedModel(model, formatCause(last_error))}
        </p>
      ))}
      {(health === "failing" || health === "paused") &&
        upstream.last_error !== undefined &&
        !isShownAsPaused && (
          <p className="upstreams-problem" dir="auto">
            {formatError(upstream.last_error)}
          </p>
        )}
      {upstream.listing.status === "failed" && (
        <p className="upstreams-problem">{t.listingFailed(formatCause(upstream.listing.reason))}</p>
      )}
      {upstream.listing.status === "loading" && (
        <p className="upstreams-muted">{t.listingLoading}</p>
      )}
      <p className="upstreams-muted">
        {last_success_at !== undefined && t.lastSuccess(format.dateTime(last_success_at))}
        {last_success_at !== undefined && last_failure_at !== undefined && " · "}
        {last_failure_at !== undefined && t.lastFailure(format.dateTime(last_failure_at))}
      </p>
      {modelNames.length === 0 ? (
        <p className="upstreams-muted">{t.noModels}</p>
      ) : (
        <Collapsible summary={formatModelsSummary(upstream, t)}>
          <ul className="upstreams-list">
            {modelNames.map((model) => (
              <UpstreamModel
                key={model}
                model={model}
                upstream={name}
                models={models}
                learnedApi={
                  upstream.learned_apis.find((learned) => learned.model === model)?.speaks
                }
                problem={
                  upstream.failing_models.find((failingModel) => failingModel.model === model)
                    ?.last_error
                }
                messages={t}
              />
            ))}
          </ul>
        </Collapsible>
      )}
    </section>
  );
}

function formatModelsSummary(
  { models, failing_models: failingModels }: UpstreamStatus,
  t: UpstreamMessages,
) {
  const count = t.models(models.length);
  return failingModels.length === 0 ? count : `${count}, ${t.failingModels(failingModels.length)}`;
}

interface UpstreamModelProps {
  model: string;
  upstream: string;
  models: readonly ModelChoice[];
  /** The API of the model, if it is not the configured one of the upstream. */
  learnedApi: UpstreamApi | undefined;
  /** Error message of the last request to the model. Undefined if that succeeded. */
  problem: string | undefined;
  messages: UpstreamMessages;
}

function UpstreamModel({
  model,
  upstream,
  models,
  learnedApi,
  problem,
  messages: t,
}: UpstreamModelProps) {
  const app = useAppStore();
  const { formatError } = useMessages(gatewayErrorMessages);
  const qualifiedName = `${upstream}/${model}`;
  const choice = models.find(({ name }) => name === qualifiedName || name === model);
  const capabilities = [
    choice?.images === true ? t.images : "",
    choice?.audio === true ? t.audio : "",
    choice?.files === true ? t.files : "",
    choice?.tools === true ? t.tools : "",
  ].filter((kind) => kind !== "");
  return (
    <li>
      <code>{model}</code>
      {problem !== undefined && <StatusBadge kind="failed" label={t.failing} />}
      {learnedApi !== undefined && <small>{t.learnedApi(formatApi(learnedApi, t))}</small>}
      {capabilities.length > 0 && <small>{t.supports(capabilities.join(", "))}</small>}
      {choice !== undefined && (
        <Button
          small
          kind="ghost"
          icon="quote"
          aria-label={t.chatWith(choice.name)}
          title={t.chatWith(choice.name)}
          onClick={() => void app.createAndOpenChat({ model: choice.name })}
        />
      )}
      {problem !== undefined && (
        <p className="upstreams-problem" dir="auto">
          {formatError(problem)}
        </p>
      )}
    </li>
  );
}

function formatApi(speaks: UpstreamApi, t: UpstreamMessages): string {
  return { chat: t.chatApi, responses: t.responsesApi, messages: t.messagesApi }[speaks];
}

const statusKindByHealth: Readonly<Record<UpstreamHealthStatus, StatusKind>> = {
  healthy: "ok",
  unknown: "stopped",
  "no key": "failed",
  "key rejected": "failed",
  failing: "waiting",
  paused: "failed",
};

function formatHealth(health: UpstreamHealthStatus, t: UpstreamMessages): string {
  const labels: Readonly<Record<UpstreamHealthStatus, string>> = {
    healthy: t.healthy,
    unknown: t.unknown,
    "no key": t.noKey,
    "key rejected": t.keyRejected,
    failing: t.failing,
    paused: t.paused,
  };
  return labels[health];
}
