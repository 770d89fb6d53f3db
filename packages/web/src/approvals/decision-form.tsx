import { assertNever } from "@deltawire/tasks";
import { useState, type FormEvent } from "react";
import type { DecisionBody, PendingApproval } from "@deltawire/tasks/chats";
import { useCellSelector } from "../hooks/use-cell.ts";
import { useAppStore } from "../hooks/use-app-store.ts";
import { Button } from "../ui/button.tsx";
import { Field, TextArea } from "../ui/field.tsx";
import type { DecisionField, DecisionDraft } from "../state/decision-drafts.ts";
import { formatArguments } from "../text/reveal-invisible.ts";
import {
  validateArguments,
  describeArguments,
  type ArgumentProblem,
} from "./validate-arguments.ts";
import { buildApproveOnce } from "./decision-buttons.tsx";
import type { ApprovalMessages } from "./messages.ts";

interface DecisionFormProps {
  pending: PendingApproval;
  draft: DecisionDraft;
  /** True if the user opened the form here, not in the other place where the approval is shown. */
  shouldFocus: boolean;
  messages: ApprovalMessages;
  busy: boolean;
  /** Error message of the gateway. */
  problem: string | undefined;
  onTextChange: (text: string) => void;
  onDecide: (body: DecisionBody) => void;
  onCancel: () => void;
}

export function DecisionForm(props: DecisionFormProps) {
  const { pending, messages: t, busy, problem, onTextChange, onDecide, onCancel } = props;
  const { writing: field, text } = props.draft;
  const [validationError, setValidationError] = useState<string>();
  const onSubmit = (event: FormEvent) => {
    event.preventDefault();
    if (busy) return undefined;
    if (field !== "arguments") return onDecide(toDecisionBody(field, text));
    const validation = validateArguments(text, pending.input_schema);
    if (!validation.ok) {
      const messages = validation.problems.map((argumentProblem) =>
        formatArgumentProblem(argumentProblem, t),
      );
      return setValidationError(messages.join("\n"));
    }
    return onDecide({ ...buildApproveOnce(pending.approval), arguments: text });
  };
  const { label, hint, send } = getFieldLabels(field, t);
  const isDenyReason = field === "reason";
  const sendKey = useCellSelector(useAppStore().preferences, (preferences) => preferences.sendKey);
  const submitsOnEnter = isDenyReason && sendKey === "enter";
  return (
    // Escape in any field cancels.
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions
    <form
      className="approvals-form"
      onSubmit={onSubmit}
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        event.stopPropagation();
        onCancel();
      }}
    >
      <Field
        label={label}
        hint={submitsOnEnter ? `${hint} ${t.reasonKeys}` : hint}
        error={validationError ?? problem}
      >
        <TextArea
          // oxlint-disable-next-line jsx-a11y/no-autofocus
          autoFocus={props.shouldFocus}
          dir="auto"
          rows={Math.max(3, Math.min(text.split("\n").length + 1, 14))}
          className={field === "arguments" ? "approvals-json" : undefined}
          spellCheck={field !== "arguments"}
          required={field === "replacement"}
          value={text}
          onChange={(event) => {
            onTextChange(event.currentTarget.value);
            setValidationError(undefined);
          }}
          enterKeyHint={submitsOnEnter ? "send" : "enter"}
          onKeyDown={(event) => {
            // 229: the key belongs to an input method, even if `isComposing` is already false (Safari).
            if (event.key !== "Enter" || event.nativeEvent.isComposing || event.keyCode === 229)
              return;
            const isPlain = !event.shiftKey && !event.altKey;
            if (event.ctrlKey || event.metaKey || (submitsOnEnter && isPlain)) onSubmit(event);
          }}
        />
      </Field>
      {field === "arguments" && pending.approval.expanded_arguments !== undefined && (
        <p className="muted">{t.referencesHint}</p>
      )}
      {field === "arguments" && <ExpectedArguments pending={pending} messages={t} />}
      <div className="approvals-actions">
        <Button kind={isDenyReason ? "danger" : "primary"} type="submit" busy={busy}>
          {send}
        </Button>
        <Button kind="ghost" onClick={onCancel}>
          {t.cancel}
        </Button>
      </div>
    </form>
  );
}

/** Returns the text that a form starts with. */
export function getInitialText(field: DecisionField, { call, approval }: PendingApproval): string {
  if (field === "arguments") return formatArguments(call?.arguments ?? "{}");
  if (field !== "replacement") return "";
  const texts = (approval.block_list ?? []).filter(({ type }) => type === "text");
  return texts.map((block) => (block.type === "text" ? block.text : "")).join("\n");
}

function ExpectedArguments({
  pending,
  messages: t,
}: {
  pending: PendingApproval;
  messages: ApprovalMessages;
}) {
  const expected = describeArguments(pending.input_schema);
  if (expected.length === 0) return null;
  return (
    <div className="approvals-expected">
      <p>{t.argumentsHint}</p>
      <ul>
        {expected.map(({ name, type, isRequired, description }) => (
          <li key={name}>
            <code>
              {name}: {type}
            </code>
            {isRequired && ` (${t.required})`}
            {description !== "" && ` ${description}`}
          </li>
        ))}
      </ul>
    </div>
  );
}

function toDecisionBody(field: Exclude<DecisionField, "arguments">, text: string): DecisionBody {
  const trimmed = text.trim();
  if (field === "replacement") return { decision: "redact", replacement: text };
  if (field === "outcome")
    return { decision: "approve", ...(trimmed === "" ? {} : { replacement: text }) };
  return { decision: "deny", ...(trimmed === "" ? {} : { reason: trimmed }) };
}

function getFieldLabels(field: DecisionField, t: ApprovalMessages) {
  const labels = {
    arguments: { label: t.editArguments, hint: undefined, send: t.approveEdited },
    reason: { label: t.reason, hint: t.reasonHint, send: t.deny },
    replacement: { label: t.replacement, hint: undefined, send: t.redactSubmit },
    outcome: { label: t.outcome, hint: undefined, send: t.executed },
  } as const;
  return labels[field];
}

/** Describes what is wrong with edited arguments, and where. */
export function formatArgumentProblem(problem: ArgumentProblem, t: ApprovalMessages): string {
  if (problem.kind === "invalid_json") return t.notJson(problem.reason);
  if (problem.kind === "not_an_object") return t.notObject;
  switch (problem.kind) {
    case "type":
      return t.wrongType(problem.path, problem.expected);
    case "choice":
      return t.wrongChoice(problem.path, problem.expected);
    case "missing":
      return t.missing(joinPath(problem.path, problem.name));
    case "unknown":
      return t.unknown(joinPath(problem.path, problem.name));
    default:
      return assertNever(problem);
  }
}

function joinPath(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`;
}
