import { usePicked } from "../hooks/use-cell.ts";
import { usePage } from "../hooks/use-page.ts";
import { Button, IconButton } from "../parts/button.tsx";
import { Keys, keysAsText } from "../parts/keys.tsx";
import { useWords } from "../words/use-words.ts";
import { stopKeys, tellingKeys } from "./composer-keys.ts";
import { composerWords } from "./composer-words.ts";

interface SendButtonsProps {
  isRunning: boolean;
  isSending: boolean;
  isStopping: boolean;
  canSend: boolean;
  hasWords: boolean;
  onSend: () => void;
  onStop: () => void;
  onTell: (delivery: "steer" | "queue") => void;
}

/** One place: it sends, and while an answer runs it stops, with two ways to say something to it before that. */
export function SendButtons(props: SendButtonsProps) {
  const { isRunning, isSending, isStopping, canSend, hasWords, onSend, onStop, onTell } = props;
  const words = useWords(composerWords);
  const sendKey = usePicked(usePage().preferences, (preferences) => preferences.sendKey);
  const keys = tellingKeys(sendKey);
  if (!isRunning)
    return (
      <div className="chat-composer-send">
        <IconButton
          icon="send"
          label={words.send}
          className="chat-composer-main"
          disabled={!canSend}
          busy={isSending}
          onClick={onSend}
        />
      </div>
    );
  return (
    <div className="chat-composer-send">
      {hasWords && (
        <>
          <Button
            small
            icon="queue"
            title={words.queueHint}
            disabled={isSending}
            onClick={() => onTell("queue")}
          >
            {words.queue}
            <Keys keys={keys.queue} />
          </Button>
          <Button
            small
            kind="primary"
            icon="send"
            title={words.steerHint}
            disabled={isSending}
            onClick={() => onTell("steer")}
          >
            {words.steer}
            <Keys keys={keys.steer} />
          </Button>
        </>
      )}
      <IconButton
        icon="stop"
        label={words.stopAnswer}
        title={`${words.stopAnswer} (${keysAsText(stopKeys)})`}
        className="chat-composer-main chat-composer-stop"
        disabled={isStopping}
        busy={isStopping}
        onClick={onStop}
      />
    </div>
  );
}
