import { useState } from "react";
import type { ChatChoices } from "@deltawire/tasks/chats";
import { hashOf } from "../browser/route.ts";
import { useCell } from "../hooks/use-cell.ts";
import { usePage } from "../hooks/use-page.ts";
import { Button } from "../parts/button.tsx";
import { Icon, type IconName } from "../parts/icon.tsx";
import { Empty } from "../parts/signs.tsx";
import { useWords } from "../words/use-words.ts";
import { composerWords } from "./composer-words.ts";
import { Composer } from "./composer.tsx";
import { startChat } from "./start-chat.ts";
import { DemoHint, isOnlyDemo, suggestionsFor, type Suggestion } from "./suggestions.tsx";
import { answererIn } from "./who-answers.tsx";

/** Where a chat begins. */
export function NewChat() {
  const page = usePage();
  const words = useWords(composerWords);
  const choices = useCell(page.choices);
  const isEmpty =
    choices !== undefined &&
    choices.models.length + choices.agents.length === 0 &&
    answererIn({}, choices) === undefined;
  return (
    <div className="chat-start">
      <div className="chat-start-column">
        <h1>{words.greeting}</h1>
        <p className="chat-start-about">{words.greetingText}</p>
        {choices !== undefined && isOnlyDemo(choices) && <DemoHint className="chat-start-demo" />}
        {isEmpty && choices.upstreams.length === 0 ? (
          <Empty title={words.noModelsTitle} text={words.noModelsText}>
            <Button kind="primary" icon="plug" onClick={() => page.router.go({ is: "upstreams" })}>
              {words.goUpstreams}
            </Button>
          </Empty>
        ) : (
          <>
            {isEmpty && <UpstreamProblems upstreams={choices.upstreams} />}
            <Composer chat={undefined} parent={null} running={undefined} />
            {choices !== undefined && !isEmpty && (
              <Suggestions suggestions={suggestionsFor(choices)} />
            )}
          </>
        )}
      </div>
    </div>
  );
}

function Suggestions({ suggestions }: { suggestions: readonly Suggestion[] }) {
  const page = usePage();
  const words = useWords(composerWords);
  const [started, setStarted] = useState<string | undefined>(undefined);
  const start = async ({ name, settings }: Suggestion) => {
    setStarted(name);
    const text = words[`${name}Text`];
    await startChat(page, settings, { text, attachments: [], contexts: [] });
    setStarted(undefined);
  };
  return (
    <section aria-label={words.suggestions}>
      <ul className="chat-suggestions">
        {suggestions.map((suggestion) => (
          <li key={suggestion.name}>
            <button
              type="button"
              className="chat-suggestion"
              disabled={started !== undefined}
              aria-busy={started === suggestion.name || undefined}
              onClick={() => void start(suggestion)}
            >
              <Card
                icon={suggestion.icon}
                title={words[`${suggestion.name}Title`]}
                text={words[`${suggestion.name}Text`]}
              />
            </button>
          </li>
        ))}
        <li>
          <a className="chat-suggestion" href={hashOf({ is: "upstreams" })}>
            <Card icon="plug" title={words.codexTitle} text={words.codexText} />
          </a>
        </li>
      </ul>
    </section>
  );
}

function Card({ icon, title, text }: { icon: IconName; title: string; text: string }) {
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

/** Why there is no model though upstreams are configured. */
function UpstreamProblems({ upstreams }: Pick<ChatChoices, "upstreams">) {
  const page = usePage();
  const words = useWords(composerWords);
  const [isAsking, setAsking] = useState(false);
  const tryAgain = async () => {
    setAsking(true);
    await page.readChoices();
    setAsking(false);
  };
  return (
    <section className="chat-start-problems" aria-label={words.noModelsKnown} role="status">
      <h2>{words.noModelsKnown}</h2>
      <ul>
        {upstreams.map(({ name, problem }) => (
          <li key={name} dir="auto">
            <strong>{name}</strong>: {problem ?? words.listsNone}
          </li>
        ))}
      </ul>
      <div className="chat-start-problems-buttons">
        <Button small kind="primary" icon="redo" busy={isAsking} onClick={() => void tryAgain()}>
          {words.tryAgain}
        </Button>
        <Button small icon="plug" onClick={() => page.router.go({ is: "upstreams" })}>
          {words.goUpstreams}
        </Button>
      </div>
    </section>
  );
}
