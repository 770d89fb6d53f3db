import { memo } from "react";
import { assertNever, type ContentPart } from "@deltawire/tasks";
import { ContentBlocks } from "../blocks/content-blocks.tsx";
import { useAppStore } from "../hooks/use-app-store.ts";
import { Button } from "../ui/button.tsx";
import type { AppStore } from "../state/app-store.ts";
import { useMessages } from "../messages/use-messages.ts";
import { useAnswerContext } from "./answer-context.ts";
import type { StepViewModel } from "./timeline-view-model.ts";
import { answerMessages } from "./messages.ts";

interface TaskInputViewProps {
  step: Extract<StepViewModel, { type: "input" }>;
  isRunning: boolean;
}

/** A message that the user sent while the answer ran, at the point where the model received it. */
export const TaskInputView = memo(function TaskInputView({ step, isRunning }: TaskInputViewProps) {
  const app = useAppStore();
  const { chat } = useAnswerContext();
  const t = useMessages(answerMessages);
  const { item, delivery, isDelivered } = step;
  const text = item.content.flatMap((part) => (part.type === "text" ? part.text : [])).join("\n\n");
  const pendingHint = delivery === "steer" ? t.deliveredNextRound : t.deliveredAfterAnswer;
  return (
    <div className="answer-task-input" data-waiting={(!isDelivered && isRunning) || undefined}>
      <span className="answer-label">{t.inputLabel}</span>
      {text !== "" && (
        <div className="plain-text" dir="auto">
          {text}
        </div>
      )}
      <ContentBlocks blocks={item.content.flatMap(toMediaBlocks)} />
      {!isDelivered && <span className="muted">{isRunning ? pendingHint : t.notDelivered}</span>}
      {!isDelivered && !isRunning && text !== "" && (
        <Button small onClick={() => restoreToDraft(app, chat.chatId, text)}>
          {t.restoreToDraft}
        </Button>
      )}
    </div>
  );
});

/** Appends the text to the draft. */
function restoreToDraft(app: AppStore, chatId: string, text: string): void {
  const draft = app.getDraft(chatId);
  const draftText = draft.get().text.trimEnd();
  draft.change({ text: draftText === "" ? text : `${draftText}\n\n${text}` });
  const writeCommand = app.commands.all.get().find(({ id }) => id === "write");
  // The tree view has no composer.
  if (writeCommand === undefined) app.router.navigate({ type: "chat", chatId });
  else writeCommand.run();
}

function toMediaBlocks(part: ContentPart) {
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
      return assertNever(part);
  }
}
