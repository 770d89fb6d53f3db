import { useState, type FormEvent } from "react";
import type { DecisionBody, PendingApproval } from "@deltawire/tasks/chats";
import { usePicked } from "../hooks/use-cell.ts";
import { usePage } from "../hooks/use-page.ts";
import { Button } from "../parts/button.tsx";
import { Field, TextArea } from "../parts/field.tsx";
import type { Writing, Written } from "../state/written-decisions.ts";
import { readableArguments } from "../texts/revealed.ts";
import { unreachable } from "../unreachable.ts";
import { checkArguments, expectedArguments, type ArgumentProblem } from "./check-arguments.ts";
import { approvedOnce } from "./choices.tsx";
import type { ApprovalWords } from "./words.ts";

interface DecisionFormProps {
  pending: PendingApproval;
  written: Written;
  /** Whoever asked for it writes in it next. */
  takesFocus: boolean;
  words: ApprovalWords;
  busy: boolean;
  /** What the gateway said against it. */
  problem: string | undefined;
  onWrite: (text: string) => void;
  onDecide: (body: DecisionBody) => void;
  onCancel: () => void;
}

export function DecisionForm(props: DecisionFormProps) {
  const { pending, words, busy, problem, onWrite, onDecide, onCancel } = props;
  const { writing, text } = props.written;
  const [wrong, setWrong] = useState<string>();
  const onSubmit = (event: FormEvent) => {
    event.preventDefault();
    if (busy) return undefined;
    if (writing !== "arguments") return onDecide(bodyOf(writing, text));
    const checked = checkArguments(text, pending.input_schema);
    if (!checked.ok) {
      const all = checked.problems.map((each) => problemInWords(each, words));
      return setWrong(all.join("\n"));
    }
    return onDecide({ ...approvedOnce(pending.approval), arguments: text });
  };
  const { label, hint, send } = labelsOf(writing, words);
  const isSecond = writing === "reason";
  const sendKey = usePicked(usePage().preferences, (preferences) => preferences.sendKey);
  const submitsByEnter = isSecond && sendKey === "enter";
  return (
    // Escape leaves it from any of its fields.
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
        hint={submitsByEnter ? `${hint} ${words.reasonKeys}` : hint}
        error={wrong ?? problem}
      >
        <TextArea
          // oxlint-disable-next-line jsx-a11y/no-autofocus
          autoFocus={props.takesFocus}
          dir="auto"
          rows={Math.max(3, Math.min(text.split("\n").length + 1, 14))}
          className={writing === "arguments" ? "approvals-json" : undefined}
          spellCheck={writing !== "arguments"}
          required={writing === "replacement"}
          value={text}
          onChange={(event) => {
            onWrite(event.currentTarget.value);
            setWrong(undefined);
          }}
          enterKeyHint={submitsByEnter ? "send" : "enter"}
          onKeyDown={(event) => {
            // 229: an input method has the key, also where `isComposing` is false already (Safari).
            if (event.key !== "Enter" || event.nativeEvent.isComposing || event.keyCode === 229)
              return;
            const isPlain = !event.shiftKey && !event.altKey;
            if (event.ctrlKey || event.metaKey || (submitsByEnter && isPlain)) onSubmit(event);
          }}
        />
      </Field>
      {writing === "arguments" && pending.approval.expanded_arguments !== undefined && (
        <p className="quiet">{words.referencesHint}</p>
      )}
      {writing === "arguments" && <Expected pending={pending} words={words} />}
      <div className="approvals-choices">
        <Button kind={isSecond ? "danger" : "primary"} type="submit" busy={busy}>
          {send}
        </Button>
        <Button kind="ghost" onClick={onCancel}>
          {words.cancel}
        </Button>
      </div>
    </form>
  );
}

/** What there is to change. */
export function firstText(writing: Writing, { call, approval }: PendingApproval): string {
  if (writing === "arguments") return readableArguments(call?.arguments ?? "{}");
  if (writing !== "replacement") return "";
  const texts = (approval.block_list ?? []).filter(({ type }) => type === "text");
  return texts.map((block) => (block.type === "text" ? block.text : "")).join("\n");
}

function Expected({ pending, words }: { pending: PendingApproval; words: ApprovalWords }) {
  const expected = expectedArguments(pending.input_schema);
  if (expected.length === 0) return null;
  return (
    <div className="approvals-expected">
      <p>{words.argumentsHint}</p>
      <ul>
        {expected.map(({ name, type, isRequired, about }) => (
          <li key={name}>
            <code>
              {name}: {type}
            </code>
            {isRequired && ` (${words.required})`}
            {about !== "" && ` ${about}`}
          </li>
        ))}
      </ul>
    </div>
  );
}

function bodyOf(writing: Exclude<Writing, "arguments">, text: string): DecisionBody {
  const written = text.trim();
  if (writing === "replacement") return { decision: "redact", replacement: text };
  if (writing === "outcome")
    return { decision: "approve", ...(written === "" ? {} : { replacement: text }) };
  return { decision: "deny", ...(written === "" ? {} : { reason: written }) };
}

function labelsOf(writing: Writing, words: ApprovalWords) {
  const all = {
    arguments: { label: words.editArguments, hint: undefined, send: words.approveEdited },
    reason: { label: words.reason, hint: words.reasonHint, send: words.deny },
    replacement: { label: words.replacement, hint: undefined, send: words.redactDo },
    outcome: { label: words.outcome, hint: undefined, send: words.wasCarriedOut },
  } as const;
  return all[writing];
}

/** What is wrong with arguments, and where. */
export function problemInWords(problem: ArgumentProblem, words: ApprovalWords): string {
  if (problem.is === "no JSON") return words.notJson(problem.why);
  if (problem.is === "no object") return words.notObject;
  const why = whyOf(problem, words);
  return problem.path === "" ? why : words.atPath(problem.path, why);
}

function whyOf(
  problem: Extract<ArgumentProblem, { readonly path: string }>,
  words: ApprovalWords,
): string {
  switch (problem.is) {
    case "type":
      return words.wrongType(problem.expected);
    case "choice":
      return words.wrongChoice(problem.expected);
    case "missing":
      return words.missing(problem.name);
    case "unknown":
      return words.unknown(problem.name);
    default:
      return unreachable(problem);
  }
}
