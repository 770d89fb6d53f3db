import { useCellSelector } from "../hooks/use-cell.ts";
import { useAppStore } from "../hooks/use-app-store.ts";
import { Button, IconButton } from "../ui/button.tsx";
import { ShortcutKeys, formatShortcut } from "../ui/keyboard-shortcut.tsx";
import { useMessages } from "../messages/use-messages.ts";
import { stopShortcut, getInputShortcuts } from "./composer-keys.ts";
import { composerMessages } from "./composer-messages.ts";

interface SendButtonsProps {
  isRunning: boolean;
  isSending: boolean;
  isStopping: boolean;
  canSend: boolean;
  hasText: boolean;
  onSend: () => void;
  onStop: () => void;
  onSendInput: (delivery: "steer" | "queue") => void;
}

/** The send button; while an answer runs, a stop button with two ways to send it a message. */
export function SendButtons(props: SendButtonsProps) {
  const { isRunning, isSending, isStopping, canSend, hasText, onSend, onStop, onSendInput } = props;
  const t = useMessages(composerMessages);
  const sendKey = useCellSelector(useAppStore().preferences, (preferences) => preferences.sendKey);
  const keys = getInputShortcuts(sendKey);
  if (!isRunning)
    return (
      <div className="chat-composer-send">
        <IconButton
          icon="send"
          label={t.send}
          className="chat-composer-main"
          disabled={!canSend}
          busy={isSending}
          onClick={onSend}
        />
      </div>
    );
  return (
    <div className="chat-composer-send">
      {hasText && (
        <>
          <Button
            small
            icon="queue"
            title={t.queueHint}
            disabled={isSending}
            onClick={() => onSendInput("queue")}
          >
            {t.queue}
            <ShortcutKeys keys={keys.queue} />
          </Button>
          <Button
            small
            kind="primary"
            icon="send"
            title={t.steerHint}
            disabled={isSending}
            onClick={() => onSendInput("steer")}
          >
            {t.steer}
            <ShortcutKeys keys={keys.steer} />
          </Button>
        </>
      )}
      <IconButton
        icon="stop"
        label={t.stopAnswer}
        title={`${t.stopAnswer} (${formatShortcut(stopShortcut)})`}
        className="chat-composer-main chat-composer-stop"
        disabled={isStopping}
        busy={isStopping}
        onClick={onStop}
      />
    </div>
  );
}
