import { memo } from "react";
import type { ContentPart } from "@deltawire/tasks";
import { unreachable } from "../unreachable.ts";
import { Blocks } from "../blocks/blocks.tsx";
import { usePage } from "../hooks/use-page.ts";
import { Button } from "../parts/button.tsx";
import type { Page } from "../state/page.ts";
import { useWords } from "../words/use-words.ts";
import { useScene } from "./scene.ts";
import type { StepView } from "./timeline-view.ts";
import { answerWords } from "./words.ts";

interface SaidProps {
  said: Extract<StepView, { is: "said" }>;
  isRunning: boolean;
}

/** What the user said while the answer was made, where the model heard it. */
export const Said = memo(function Said({ said, isRunning }: SaidProps) {
  const page = usePage();
  const { chat } = useScene();
  const words = useWords(answerWords);
  const { item, delivery, isHeard } = said;
  const text = item.content.flatMap((part) => (part.type === "text" ? part.text : [])).join("\n\n");
  const waits = delivery === "steer" ? words.heardNext : words.heardAfter;
  return (
    <div className="answer-said" data-waiting={(!isHeard && isRunning) || undefined}>
      <span className="answer-label">{words.meanwhile}</span>
      {text !== "" && (
        <div className="plain-text" dir="auto">
          {text}
        </div>
      )}
      <Blocks blocks={item.content.flatMap(mediumOf)} />
      {!isHeard && <span className="quiet">{isRunning ? waits : words.notHeard}</span>}
      {!isHeard && !isRunning && text !== "" && (
        <Button small onClick={() => putBack(page, chat.chatId, text)}>
          {words.putBack}
        </Button>
      )}
    </div>
  );
});

/** Below what is written there already. */
function putBack(page: Page, chatId: string, text: string): void {
  const draft = page.draft(chatId);
  const written = draft.get().text.trimEnd();
  draft.change({ text: written === "" ? text : `${written}\n\n${text}` });
  const write = page.commands.all.get().find(({ id }) => id === "write");
  // In a picture of the chat there is nowhere to write.
  if (write === undefined) page.router.go({ is: "chat", chatId });
  else write.run();
}

function mediumOf(part: ContentPart) {
  switch (part.type) {
    case "text":
      return [];
    case "image_url":
      return { type: "image" as const, image_url: part.image_url };
    case "audio_url":
      return { type: "audio" as const, audio_url: part.audio_url };
    case "file_url": {
      const { file_url, filename, media_type } = part;
      return {
        type: "file" as const,
        file_url,
        ...(filename === undefined ? {} : { filename }),
        ...(media_type === undefined ? {} : { media_type }),
      };
    }
    default:
      return unreachable(part);
  }
}
