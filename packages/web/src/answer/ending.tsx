import { memo, type ReactNode } from "react";
import type { AnswerStatus } from "@deltawire/tasks/chats";
import { Icon } from "../parts/icon.tsx";
import { unreachable } from "../unreachable.ts";
import { useWords } from "../words/use-words.ts";
import type { AnswerView } from "./answer-view.ts";
import { answerWords } from "./words.ts";

interface EndingProps extends Pick<AnswerView, "status" | "error"> {
  /** Its last words say that they break off. */
  isCut: boolean;
  /** Buttons, if something can be done here. */
  actions?: ReactNode;
}

/** How an answer ended that did not come to its own end: what happened, and what to do. */
export const Ending = memo(function Ending({ status, error, isCut, actions }: EndingProps) {
  const words = useWords(answerWords);
  const ending = endingOf(status, error);
  if (ending === undefined) return null;
  if (ending.is === "stopped")
    return isCut ? null : <p className="answer-stopped">{words.stopped}</p>;
  return (
    <div className="answer-failure" data-kind={ending.is}>
      <Icon name="warning" />
      <div>
        <strong>{words[ending.title]}</strong>
        {ending.message !== "" && (
          <p className="plain-text" dir="auto">
            {ending.message}
          </p>
        )}
        {ending.advice !== undefined && <p>{words[ending.advice]}</p>}
        <p className="quiet">{words.code(ending.code)}</p>
        {actions !== undefined && <div className="answer-failure-actions">{actions}</div>}
      </div>
    </div>
  );
});

/** What is said of an answer that did not come to its own end; titles and advice are names of words. */
export type AnswerEnding =
  | { readonly is: "stopped" }
  | {
      readonly is: "failed" | "out of time" | "aborted";
      readonly title: Title;
      readonly message: string;
      readonly advice: Advice | undefined;
      readonly code: string;
    };

type Title =
  | "abortedTitle"
  | "timeoutTitle"
  | "interruptedTitle"
  | "modelFailed"
  | "toolFailed"
  | "approvalFailed"
  | "failedSomewhere";

type Advice =
  | "timeoutAdvice"
  | "adviceRetry"
  | "adviceWait"
  | "adviceReach"
  | "adviceKey"
  | "adviceLong"
  | "adviceChoose";

export function endingOf(
  status: AnswerStatus,
  error: AnswerView["error"],
): AnswerEnding | undefined {
  const { code = "failed", message = "", phase } = error ?? {};
  switch (status) {
    case "running":
    case "completed":
      return undefined;
    case "aborted":
      if (error === undefined) return { is: "stopped" };
      return { is: "aborted", title: "abortedTitle", message, advice: undefined, code };
    case "timeout":
      return { is: "out of time", title: "timeoutTitle", message, advice: "timeoutAdvice", code };
    case "error":
      return {
        is: "failed",
        title: code === "interrupted" ? "interruptedTitle" : titles[phase ?? "unknown"],
        // The title says the same.
        message: code === "interrupted" ? "" : message,
        advice: adviceFor(code, message),
        code,
      };
    default:
      return unreachable(status);
  }
}

const titles: Readonly<Record<"model" | "tool" | "approval" | "unknown", Title>> = {
  model: "modelFailed",
  tool: "toolFailed",
  approval: "approvalFailed",
  unknown: "failedSomewhere",
};

/** Servers name the same failure differently: what their codes and words have in common decides. */
const rules: readonly (readonly [RegExp, Advice])[] = [
  [/context_length|too long|context window/i, "adviceLong"],
  [/rate_limit|too_many|overloaded|\b429\b/i, "adviceWait"],
  [/quota|billing|api_key|unauthorized|authentication|permission|\b40[13]\b|key/i, "adviceKey"],
  [/unreachable|timeout|truncated|redirect|connect/i, "adviceReach"],
  [/unknown_(?:model|agent|tool_group)|model_not_found|invalid_agent|unpriced/i, "adviceChoose"],
];

function adviceFor(code: string, message: string): Advice {
  const byCode = rules.find(([pattern]) => pattern.test(code));
  const [, advice] = byCode ?? rules.find(([pattern]) => pattern.test(message)) ?? [];
  return advice ?? "adviceRetry";
}
