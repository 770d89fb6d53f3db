import { useEffect, useRef } from "react";
import type { DecisionBody, PendingApproval } from "@deltawire/tasks/chats";
import type { TaskApproval } from "@deltawire/tasks";
import { Button } from "../ui/button.tsx";
import { formatShortcut, toAriaShortcut } from "../ui/keyboard-shortcut.tsx";
import { Menu } from "../ui/menu.tsx";
import type { DecisionField } from "../state/decision-drafts.ts";
import type { ApprovalMessages } from "./messages.ts";

interface DecisionButtonsProps {
  pending: PendingApproval;
  messages: ApprovalMessages;
  busy: boolean;
  /** The most recently canceled form. */
  canceledField: DecisionField | undefined;
  hasShortcuts: boolean;
  onDecide: (body: DecisionBody) => void;
  onOpenField: (field: DecisionField) => void;
}

/** One button per possible decision. */
export function DecisionButtons(props: DecisionButtonsProps) {
  const { pending, messages: t, busy, canceledField, hasShortcuts, onDecide, onOpenField } = props;
  const { approval, call } = pending;
  const row = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // When a form is canceled, the focus returns to the button that opened it.
    if (canceledField !== undefined)
      row.current?.querySelector<HTMLElement>(`[data-field=${canceledField}]`)?.focus();
  }, [canceledField]);
  const { kind, choices, scopes = ["once"], any_arguments } = approval;
  const canApproveSession = kind === "call" && scopes.includes("session");
  const labels = getDecisionLabels(kind, t);
  return (
    <div ref={row} className="approvals-actions">
      {choices.includes("approve") && (
        <Button
          kind="primary"
          icon="check"
          busy={busy}
          data-field="outcome"
          {...(hasShortcuts && toShortcutProps(approveShortcut))}
          onClick={() =>
            kind === "reconcile" ? onOpenField("outcome") : onDecide(buildApproveOnce(approval))
          }
        >
          {labels.approve}
        </Button>
      )}
      {canApproveSession && (
        <Menu
          label={t.session}
          items={[
            {
              label: t.sessionSame,
              icon: "check",
              run: () => onDecide({ decision: "approve", scope: "session" }),
            },
            ...(any_arguments === true
              ? [
                  {
                    label: t.sessionAny,
                    icon: "shield" as const,
                    run: () =>
                      onDecide({ decision: "approve", scope: "session", any_arguments: true }),
                  },
                ]
              : []),
          ]}
        >
          {t.session}
        </Menu>
      )}
      {kind === "call" && call !== undefined && (
        <Button
          icon="edit"
          softDisabled={busy}
          data-field="arguments"
          onClick={() => onOpenField("arguments")}
        >
          {t.edit}
        </Button>
      )}
      {choices.includes("redact") && (
        <Button
          icon="hide"
          softDisabled={busy}
          data-field="replacement"
          onClick={() => onOpenField("replacement")}
        >
          {t.redact}
        </Button>
      )}
      {choices.includes("deny") && (
        <Button
          kind="danger"
          softDisabled={busy}
          data-field="reason"
          {...(hasShortcuts && toShortcutProps(denyShortcut))}
          onClick={() =>
            kind === "limit" || kind === "reconcile"
              ? onDecide({ decision: "deny" })
              : onOpenField("reason")
          }
        >
          {labels.deny}
        </Button>
      )}
      {choices.includes("abort") && (
        <Button
          kind="ghost"
          icon="stop"
          softDisabled={busy}
          onClick={() => onDecide({ decision: "abort" })}
        >
          {t.abort}
        </Button>
      )}
    </div>
  );
}

function getDecisionLabels(kind: string, t: ApprovalMessages): { approve: string; deny: string } {
  switch (kind) {
    case "result":
      return { approve: t.release, deny: t.withhold };
    case "limit":
      return { approve: t.continueTask, deny: t.stopHere };
    case "reconcile":
      return { approve: t.executed, deny: t.notExecuted };
    default:
      return { approve: t.approve, deny: t.denyWithReason };
  }
}

/** `aria-keyshortcuts` is read by screen readers; CSS shows `data-keys`. */
function toShortcutProps(keys: string) {
  return { "aria-keyshortcuts": toAriaShortcut(keys), "data-keys": formatShortcut(keys) };
}

/** Returns the decision to approve once. Without a scope the gateway would apply the widest. */
export function buildApproveOnce({ scopes }: TaskApproval): DecisionBody {
  return scopes?.includes("once") === true
    ? { decision: "approve", scope: "once" }
    : { decision: "approve" };
}

/* Shortcuts for the oldest approval in the tray. */

export const approveShortcut = "mod+enter";
export const denyShortcut = "mod+backspace";
