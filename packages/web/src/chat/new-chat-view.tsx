import { useState } from "react";
import type { ChatChoices } from "@deltawire/tasks/chats";
import { formatHashRoute } from "../browser/hash-router.ts";
import { useCell } from "../hooks/use-cell.ts";
import { useAppStore } from "../hooks/use-app-store.ts";
import { Button } from "../ui/button.tsx";
import { Icon, type IconName } from "../ui/icon.tsx";
import { EmptyState } from "../ui/indicators.tsx";
import { useMessages } from "../messages/use-messages.ts";
import { composerMessages } from "./composer-messages.ts";
import { Composer } from "./composer.tsx";
import { startChat } from "./start-chat.ts";
import { DemoHint, hasOnlyDemoModels, listSuggestions, type Suggestion } from "./suggestions.tsx";
import { resolveResponder } from "./responder.tsx";

/** The start page, with the composer for a new chat. */
export function NewChatView() {
  const app = useAppStore();
  const t = useMessages(composerMessages);
  const choices = useCell(app.choices);
  const hasNoResponder =
    choices !== undefined &&
    choices.models.length + choices.agents.length === 0 &&
    resolveResponder({}, choices) === undefined;
  return (
    <div className="chat-start">
      <div className="chat-start-column">
        <h1>{t.greeting}</h1>
        <p className="chat-start-description">{t.greetingText}</p>
        {choices !== undefined && hasOnlyDemoModels(choices) && (
          <DemoHint className="chat-start-demo" />
        )}
        {hasNoResponder && choices.upstreams.length === 0 ? (
          <EmptyState title={t.noModelsTitle} text={t.noModelsText}>
            <Button
              kind="primary"
              icon="plug"
              onClick={() => app.router.navigate({ type: "upstreams" })}
            >
              {t.openUpstreams}
            </Button>
          </EmptyState>
        ) : (
          <>
            {hasNoResponder && <UpstreamProblems upstreams={choices.upstreams} />}
            <Composer chat={undefined} parentId={null} runningTaskId={undefined} />
            {choices !== undefined && !hasNoResponder && (
              <SuggestionList suggestions={listSuggestions(choices)} />
            )}
          </>
        )}
      </div>
    </div>
  );
}

function SuggestionList({ suggestions }: { suggestions: readonly Suggestion[] }) {
  const app = useAppStore();
  const t = useMessages(composerMessages);
  const [startingName, setStartingName] = useState<string | undefined>(undefined);
  const start = async ({ name, settings }: Suggestion) => {
    setStartingName(name);
    const text = t[`${name}Text`];
    await startChat(app, settings, { text, attachments: [], contexts: [] });
    setStartingName(undefined);
  };
  return (
    <section aria-label={t.suggestions}>
      <ul className="chat-suggestions">
        {suggestions.map((suggestion) => (
          <li key={suggestion.name}>
            <button
              type="button"
              className="chat-suggestion"
              disabled={startingName !== undefined}
              aria-busy={startingName === suggestion.name || undefined}
              onClick={() => void start(suggestion)}
            >
              <SuggestionCard
                icon={suggestion.icon}
                title={t[`${suggestion.name}Title`]}
                text={t[`${suggestion.name}Text`]}
              />
            </button>
          </li>
        ))}
        <li>
          <a className="chat-suggestion" href={formatHashRoute({ type: "upstreams" })}>
            <SuggestionCard icon="plug" title={t.connectTitle} text={t.connectText} />
          </a>
        </li>
      </ul>
    </section>
  );
}

function SuggestionCard({ icon, title, text }: { icon: IconName; title: string; text: string }) {
  return (
    <>
      <Icon name={icon} />
      <span className="chat-suggestion-text">
        <span>{title}</span>
        <small dir="auto">{text}</small>
      </span>
    </>
  );
}

/** Explains why there are no models although upstreams are configured. */
function UpstreamProblems({ upstreams }: Pick<ChatChoices, "upstreams">) {
  const app = useAppStore();
  const t = useMessages(composerMessages);
  const [isReloading, setReloading] = useState(false);
  const tryAgain = async () => {
    setReloading(true);
    await app.reloadChoices();
    setReloading(false);
  };
  return (
    <section className="chat-start-problems" aria-label={t.noModelsListed} role="status">
      <h2>{t.noModelsListed}</h2>
      <ul>
        {upstreams.map(({ name, problem }) => (
          <li key={name} dir="auto">
            <strong>{name}</strong>: {problem ?? t.listsNoModels}
          </li>
        ))}
      </ul>
      <div className="chat-start-problems-buttons">
        <Button small kind="primary" icon="redo" busy={isReloading} onClick={() => void tryAgain()}>
          {t.tryAgain}
        </Button>
        <Button small icon="plug" onClick={() => app.router.navigate({ type: "upstreams" })}>
          {t.openUpstreams}
        </Button>
      </div>
    </section>
  );
}
