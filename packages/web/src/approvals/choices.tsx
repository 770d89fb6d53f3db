import { useEffect, useRef } from "react";
import type { DecisionBody, PendingApproval } from "@deltawire/tasks/chats";
import type { TaskApproval } from "@deltawire/tasks";
import { Button } from "../parts/button.tsx";
import { keysAsText, keysForAria } from "../parts/keys.tsx";
import { Menu } from "../parts/menu.tsx";
import type { Writing } from "../state/written-decisions.ts";
import type { ApprovalWords } from "./words.ts";

interface ChoicesProps {
  pending: PendingApproval;
  words: ApprovalWords;
  busy: boolean;
  left: Writing | undefined;
  hasKeys: boolean;
  onDecide: (body: DecisionBody) => void;
  onWrite: (writing: Writing) => void;
}

/** What can be decided, each with its button. */
export function Choices(props: ChoicesProps) {
  const { pending, words, busy, left, hasKeys, onDecide, onWrite } = props;
  const { approval, call } = pending;
  const row = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // Whoever has left the form is again where it was opened.
    if (left !== undefined)
      row.current?.querySelector<HTMLElement>(`[data-writes=${left}]`)?.focus();
  }, [left]);
  const { kind, choices, scopes = ["once"], any_arguments } = approval;
  const forSession = kind === "call" && scopes.includes("session");
  const labels = labelsOf(kind, words);
  return (
    <div ref={row} className="approvals-choices">
      {choices.includes("approve") && (
        <Button
          kind="primary"
          icon="check"
          busy={busy}
          data-writes="outcome"
          {...(hasKeys && shownKeys(approveKey))}
          onClick={() =>
            kind === "reconcile" ? onWrite("outcome") : onDecide(approvedOnce(approval))
          }
        >
          {labels.approve}
        </Button>
      )}
      {forSession && (
        <Menu
          label={words.session}
          items={[
            {
              label: words.sessionSame,
              icon: "check",
              run: () => onDecide({ decision: "approve", scope: "session" }),
            },
            ...(any_arguments === true
              ? [
                  {
                    label: words.sessionAny,
                    icon: "shield" as const,
                    run: () =>
                      onDecide({ decision: "approve", scope: "session", any_arguments: true }),
                  },
                ]
              : []),
          ]}
        >
          {words.session}
        </Menu>
      )}
      {kind === "call" && call !== undefined && (
        <Button icon="edit" off={busy} data-writes="arguments" onClick={() => onWrite("arguments")}>
          {words.edit}
        </Button>
      )}
      {choices.includes("redact") && (
        <Button
          icon="hide"
          off={busy}
          data-writes="replacement"
          onClick={() => onWrite("replacement")}
        >
          {words.redact}
        </Button>
      )}
      {choices.includes("deny") && (
        <Button
          kind="danger"
          off={busy}
          data-writes="reason"
          {...(hasKeys && shownKeys(denyKey))}
          onClick={() =>
            kind === "limit" || kind === "reconcile"
              ? onDecide({ decision: "deny" })
              : onWrite("reason")
          }
        >
          {labels.deny}
        </Button>
      )}
      {choices.includes("abort") && (
        <Button kind="ghost" icon="stop" off={busy} onClick={() => onDecide({ decision: "abort" })}>
          {words.abort}
        </Button>
      )}
    </div>
  );
}

function labelsOf(kind: string, words: ApprovalWords): { approve: string; deny: string } {
  switch (kind) {
    case "result":
      return { approve: words.release, deny: words.withhold };
    case "limit":
      return { approve: words.goOn, deny: words.endHere };
    case "reconcile":
      return { approve: words.wasCarriedOut, deny: words.wasNot };
    default:
      return { approve: words.approve, deny: words.denyWhy };
  }
}

/** For screen readers by the names that they know, for the eye as keys are written everywhere. */
function shownKeys(keys: string) {
  return { "aria-keyshortcuts": keysForAria(keys), "data-keys": keysAsText(keys) };
}

/** Without a scope the widest is taken: whoever approves one call approves only that. */
export function approvedOnce({ scopes }: TaskApproval): DecisionBody {
  return scopes?.includes("once") === true
    ? { decision: "approve", scope: "once" }
    : { decision: "approve" };
}

/* Of the oldest question in the tray. */

export const approveKey = "mod+enter";
export const denyKey = "mod+backspace";
