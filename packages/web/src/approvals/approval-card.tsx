import { useId, useLayoutEffect, useRef, useState } from "react";
import type { Block, ExpandedArguments } from "@deltawire/tasks";
import { ChatApiError, type DecisionBody, type PendingApproval } from "@deltawire/tasks/chats";
import { ContentBlocks } from "../blocks/content-blocks.tsx";
import { LongText } from "../blocks/long-text.tsx";
import { formatHashRoute } from "../browser/hash-router.ts";
import { useCellSelector } from "../hooks/use-cell.ts";
import { useAppStore } from "../hooks/use-app-store.ts";
import { Button } from "../ui/button.tsx";
import { Icon } from "../ui/icon.tsx";
import type { DecisionField } from "../state/decision-drafts.ts";
import { getListedChatTitle } from "../text/chat-title.ts";
import { formatArguments, revealInvisible } from "../text/reveal-invisible.ts";
import { useFormatter } from "../messages/format.ts";
import { useMessages } from "../messages/use-messages.ts";
import "./approvals.css";
import { DecisionButtons } from "./decision-buttons.tsx";
import { DecisionForm, getInitialText } from "./decision-form.tsx";
import { approvalMessages, type ApprovalMessages } from "./messages.ts";

interface ApprovalCardProps {
  pending: PendingApproval;
  placement: "inline" | "tray";
  /** True if the keyboard shortcuts for approve and deny apply to this card. */
  hasShortcuts?: boolean | undefined;
  onDecided?: (() => void) | undefined;
}

/** A pending approval with everything needed to make the decision. */
export function ApprovalCard({
  pending,
  placement,
  hasShortcuts = false,
  onDecided,
}: ApprovalCardProps) {
  const app = useAppStore();
  const t = useMessages(approvalMessages);
  const format = useFormatter();
  const titleId = useId();
  const { approval } = pending;
  const isDeciding = useCellSelector(app.approvals.deciding, (ids) =>
    ids.has(approval.approval_id),
  );
  const card = useFocusNextOnUnmount();
  const draft = useCellSelector(app.approvals.decisionDrafts, (drafts) =>
    drafts.get(approval.approval_id),
  );
  const [isOpenedHere, setOpenedHere] = useState(false);
  // The draft may have been canceled elsewhere: the same approval is shown in the tray and in the chat.
  if (isOpenedHere && draft === undefined) setOpenedHere(false);
  /** The form that was canceled last. Its button receives the focus. */
  const [canceledField, setCanceledField] = useState<DecisionField>();
  const [problem, setProblem] = useDecisionFailure();
  const openField = (field: DecisionField) => {
    setOpenedHere(true);
    app.approvals.setDecisionDraft(approval.approval_id, {
      writing: field,
      text: getInitialText(field, pending),
    });
  };
  const decide = async (body: DecisionBody) => {
    if (app.approvals.deciding.get().has(approval.approval_id)) return;
    setProblem(undefined);
    try {
      await app.approvals.decide(approval.approval_id, body);
      onDecided?.();
    } catch (error) {
      setProblem(toDecisionFailure(error, t));
    }
  };
  const { used, limit, expires_at } = approval;
  return (
    <div
      ref={card}
      className="approvals-card"
      role="group"
      aria-labelledby={titleId}
      aria-busy={isDeciding}
      tabIndex={-1}
    >
      <header className="approvals-header">
        <Icon name="hand" />
        <h3 id={titleId}>{formatQuestion(pending, t)}</h3>
      </header>
      {placement === "tray" && <ApprovalOrigin pending={pending} messages={t} />}
      {used !== undefined && limit !== undefined && <p>{t.used(String(used), String(limit))}</p>}
      <HeldReason pending={pending} messages={t} />
      <ApprovalSubject pending={pending} messages={t} />
      {expires_at !== undefined && (
        <p className="muted">{t.expires(format.dateTime(expires_at))}</p>
      )}
      {draft === undefined ? (
        <DecisionButtons
          pending={pending}
          messages={t}
          busy={isDeciding}
          canceledField={canceledField}
          hasShortcuts={hasShortcuts}
          onDecide={(body) => void decide(body)}
          onOpenField={openField}
        />
      ) : (
        <DecisionForm
          pending={pending}
          draft={draft}
          shouldFocus={isOpenedHere}
          messages={t}
          busy={isDeciding}
          problem={problem?.text}
          onTextChange={(text) =>
            app.approvals.setDecisionDraft(approval.approval_id, { ...draft, text })
          }
          onDecide={(body) => void decide(body)}
          onCancel={() => {
            setCanceledField(draft.writing);
            app.approvals.setDecisionDraft(approval.approval_id, undefined);
            setProblem(undefined);
          }}
        />
      )}
      {draft === undefined && problem !== undefined && (
        <p className="approvals-problem" role="alert">
          {problem.text}
        </p>
      )}
    </div>
  );
}

/** If the card has the focus when it unmounts, moves the focus to another card, the tray, the call or the answer. */
function useFocusNextOnUnmount() {
  const card = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const element = card.current;
    return () => {
      if (element?.contains(document.activeElement) === true) findNextFocus(element)?.focus();
    };
  }, []);
  return card;
}

function findNextFocus(card: HTMLElement): HTMLElement | null {
  const cards = [card.nextElementSibling, card.previousElementSibling];
  const sibling = cards.find((element) => element?.classList.contains("approvals-card") === true);
  if (sibling instanceof HTMLElement) return sibling;
  return (
    card.closest<HTMLElement>(".approvals-panel") ??
    card.closest("[data-call]")?.querySelector("button") ??
    card.closest<HTMLElement>("article")
  );
}

interface ApprovalPartProps {
  pending: PendingApproval;
  messages: ApprovalMessages;
}

function ApprovalOrigin({ pending: { chat, agent, depth }, messages: t }: ApprovalPartProps) {
  const name = chat && getListedChatTitle(chat);
  const agentLabel = depth > 0 ? `${t.subAgent} ${agent}` : agent;
  return (
    <p className="muted">
      {t.requestedBy(agentLabel, name)}
      {chat !== undefined && (
        <>
          {" "}
          <a href={formatHashRoute({ type: "chat", chatId: chat.chat_id, nodeId: chat.node_id })}>
            {t.showInChat}
          </a>
        </>
      )}
    </p>
  );
}

function HeldReason({ pending: { outcome }, messages: t }: ApprovalPartProps) {
  if (outcome === "failed") return <p>{t.heldAfterFailure}</p>;
  return outcome === "timeout" ? <p>{t.heldAfterTimeout}</p> : null;
}

/** The arguments of the call, or the held result. */
function ApprovalSubject({ pending, messages: t }: ApprovalPartProps) {
  const { block_list: blocks, kind } = pending.approval;
  if (kind === "result" && blocks !== undefined)
    return (
      <div className="approvals-subject" role="group" aria-label={t.heldResult}>
        <ContentBlocks blocks={blocks.map(revealBlock)} />
      </div>
    );
  if (pending.call === undefined) return null;
  return <ExecutedArguments pending={pending} messages={t} />;
}

function revealBlock(block: Block): Block {
  return block.type === "text" ? { ...block, text: revealInvisible(block.text) } : block;
}

/** Returns the question to the user in one line. Kinds without a standard question use the text from the gateway, if any. */
export function formatQuestion({ approval, call }: PendingApproval, t: ApprovalMessages): string {
  const tool = call?.name ?? approval.tool ?? "";
  switch (approval.kind) {
    case "call":
      return t.questionCall(tool);
    case "result":
      return t.questionResult(tool);
    case "limit":
      return t.questionLimit(approval.limit_name ?? "");
    case "reconcile":
      return t.questionReconcile(tool);
    case "question":
    default:
      return approval.question ?? t.questionOther;
  }
}

export interface DecisionFailure {
  readonly text: string;
  /** True if the gateway could not be reached. */
  readonly isUnreachable: boolean;
}

/** Describes why a decision failed. Error messages of the gateway are shown unchanged. */
function toDecisionFailure(failure: unknown, t: ApprovalMessages): DecisionFailure {
  const isUnreachable = failure instanceof ChatApiError && failure.code === "unreachable";
  const reason = failure instanceof Error ? failure.message : String(failure);
  return { text: isUnreachable ? t.gatewayUnreachable : t.decisionFailed(reason), isUnreachable };
}

/** The state of the last failed decision. A failure caused by a lost connection is cleared once the connection is back. */
function useDecisionFailure() {
  const isLive = useCellSelector(
    useAppStore().connection,
    ({ status }) => status === "live" || status === "outdated",
  );
  const [wasLive, setWasLive] = useState(isLive);
  const [problem, setProblem] = useState<DecisionFailure>();
  if (isLive !== wasLive) {
    setWasLive(isLive);
    if (isLive && problem?.isUnreachable === true) setProblem(undefined);
  }
  return [problem, setProblem] as const;
}

interface ExecutedArgumentsProps {
  pending: PendingApproval;
  messages: ApprovalMessages;
}

/** The arguments that would be executed, or that were before a crash, with variables filled in. */
function ExecutedArguments({ pending: { approval, call }, messages: t }: ExecutedArgumentsProps) {
  const { expanded_arguments: expandedArguments, kind } = approval;
  const note = kind === "reconcile" ? t.executedArguments : t.variablesFilledIn;
  if (expandedArguments !== undefined && !("text" in expandedArguments))
    return <TruncatedArguments expandedArguments={expandedArguments} note={note} messages={t} />;
  const text = formatArguments(expandedArguments?.text ?? call?.arguments ?? "");
  return (
    <>
      {expandedArguments !== undefined && <p className="muted">{note}</p>}
      <LongText text={text || t.noArguments} mono label={t.arguments} />
    </>
  );
}

interface TruncatedArgumentsProps {
  expandedArguments: Exclude<ExpandedArguments, { text: string }>;
  note: string;
  messages: ApprovalMessages;
}

function TruncatedArguments({
  expandedArguments: { head, tail, length, url },
  note,
  messages: t,
}: TruncatedArgumentsProps) {
  const app = useAppStore();
  const [complete, setComplete] = useState<string>();
  const [isLoading, setLoading] = useState(false);
  const load = async () => {
    setLoading(true);
    const text = await app.attempt(async () => {
      const reply = await app.request(url);
      if (!reply.ok) throw new Error(t.argumentsFailed(reply.status));
      return reply.text();
    });
    setLoading(false);
    if (text !== undefined) setComplete(formatArguments(text));
  };
  const omittedLength = length - head.length - tail.length;
  const omission = `[… ${t.omitted(omittedLength)} …]`;
  const excerpt = `${revealInvisible(head)}\n\n${omission}\n\n${revealInvisible(tail)}`;
  return (
    <>
      <p className="muted">
        {note} {t.lengthOfArguments(length)}
      </p>
      <LongText text={complete ?? excerpt} mono label={t.arguments} />
      {complete === undefined && (
        <div className="approvals-actions">
          <Button busy={isLoading} onClick={() => void load()}>
            {t.showAll}
          </Button>
        </div>
      )}
    </>
  );
}
