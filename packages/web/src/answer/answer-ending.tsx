import { assertNever } from "@deltawire/tasks";
import { memo, type ReactNode } from "react";
import type { AnswerStatus } from "@deltawire/tasks/chats";
import { Icon } from "../ui/icon.tsx";
import { useMessages } from "../messages/use-messages.ts";
import type { AnswerViewModel } from "./answer-view-model.ts";
import { updateFormerNotice } from "./former-notices.ts";
import { answerMessages } from "./messages.ts";
import { gatewayErrorMessages } from "../text/gateway-error-translations.ts";

interface AnswerEndingNoticeProps extends Pick<AnswerViewModel, "status" | "error"> {
  /** True if the last message is already marked as cut off. */
  isTruncated: boolean;
  /** Buttons, for example to retry. */
  actions?: ReactNode;
}

/** Shows why an answer ended early, and what to do about it. Renders nothing for a completed answer. */
export const AnswerEndingNotice = memo(function AnswerEndingNotice({
  status,
  error,
  isTruncated,
  actions,
}: AnswerEndingNoticeProps) {
  const t = useMessages(answerMessages);
  const { formatError } = useMessages(gatewayErrorMessages);
  const ending = toAnswerEnding(status, error);
  if (ending === undefined) return null;
  if (ending.status === "stopped")
    return isTruncated ? null : <p className="answer-stopped">{t.stopped}</p>;
  return (
    <div className="answer-failure" data-kind={ending.status}>
      <Icon name="warning" />
      <div>
        <strong>{t[ending.title]}</strong>
        {ending.message !== "" && (
          <p className="plain-text" dir="auto">
            {formatError(updateFormerNotice(ending.message))}
          </p>
        )}
        {ending.advice !== undefined && <p>{t[ending.advice]}</p>}
        <p className="muted">{t.code(ending.code)}</p>
        {actions !== undefined && <div className="answer-failure-actions">{actions}</div>}
      </div>
    </div>
  );
});

/** The early end of an answer. `title` and `advice` are keys of `answerMessages`. */
export type AnswerEnding =
  | { readonly status: "stopped" }
  | {
      readonly status: "failed" | "timed_out" | "aborted";
      readonly title: EndingTitleKey;
      readonly message: string;
      readonly advice: EndingAdviceKey | undefined;
      readonly code: string;
    };

type EndingTitleKey =
  | "abortedTitle"
  | "timeoutTitle"
  | "interruptedTitle"
  | "modelFailed"
  | "toolFailed"
  | "approvalFailed"
  | "answerFailed";

type EndingAdviceKey =
  | "timeoutAdvice"
  | "adviceRetry"
  | "adviceWait"
  | "adviceConnection"
  | "adviceKey"
  | "adviceContextLength"
  | "adviceChoose";

/** Returns undefined if the answer is running or completed. */
export function toAnswerEnding(
  status: AnswerStatus,
  error: AnswerViewModel["error"],
): AnswerEnding | undefined {
  const { code = "failed", message = "", phase } = error ?? {};
  switch (status) {
    case "running":
    case "completed":
      return undefined;
    case "aborted":
      if (error === undefined) return { status: "stopped" };
      return { status: "aborted", title: "abortedTitle", message, advice: undefined, code };
    case "timeout":
      return { status: "timed_out", title: "timeoutTitle", message, advice: "timeoutAdvice", code };
    case "error":
      return {
        status: "failed",
        title: code === "interrupted" ? "interruptedTitle" : titleByPhase[phase ?? "unknown"],
        // The title already says what happened.
        message: code === "interrupted" ? "" : message,
        advice: chooseAdvice(code, message),
        code,
      };
    default:
      return assertNever(status);
  }
}

const titleByPhase: Readonly<Record<"model" | "tool" | "approval" | "unknown", EndingTitleKey>> = {
  model: "modelFailed",
  tool: "toolFailed",
  approval: "approvalFailed",
  unknown: "answerFailed",
};

/** The first match wins. Servers name the same failure differently, so codes and messages are matched by their common parts. */
const adviceRules: readonly (readonly [RegExp, EndingAdviceKey])[] = [
  [/context_length|too long|context window/i, "adviceContextLength"],
  [/rate_limit|too_many|overloaded|\b429\b/i, "adviceWait"],
  [/quota|billing|api_key|unauthorized|authentication|permission|\b40[13]\b|key/i, "adviceKey"],
  [/unreachable|timeout|truncated|redirect|connect/i, "adviceConnection"],
  [/unknown_(?:model|agent|tool_group)|model_not_found|invalid_agent|unpriced/i, "adviceChoose"],
];

function chooseAdvice(code: string, message: string): EndingAdviceKey {
  const byCode = adviceRules.find(([pattern]) => pattern.test(code));
  const [, advice] = byCode ?? adviceRules.find(([pattern]) => pattern.test(message)) ?? [];
  return advice ?? "adviceRetry";
}
