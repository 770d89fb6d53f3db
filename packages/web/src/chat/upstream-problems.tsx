import { useState } from "react";
import type { ChatChoices } from "@deltawire/tasks/chats";
import { usePage } from "../hooks/use-page.ts";
import { Button } from "../parts/button.tsx";
import { useWords } from "../words/use-words.ts";
import { composerWords } from "./composer-words.ts";

/** Why there is no model though upstreams are configured. */
export function UpstreamProblems({ upstreams }: Pick<ChatChoices, "upstreams">) {
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
