import { useId, useLayoutEffect, useRef, useState } from "react";
import type { Block, ExpandedArguments } from "@deltawire/tasks";
import { ChatApiError, type DecisionBody, type PendingApproval } from "@deltawire/tasks/chats";
import { Blocks } from "../blocks/blocks.tsx";
import { LongText } from "../blocks/long-text.tsx";
import { hashOf } from "../browser/route.ts";
import { usePicked } from "../hooks/use-cell.ts";
import { usePage } from "../hooks/use-page.ts";
import { Button } from "../parts/button.tsx";
import { Icon } from "../parts/icon.tsx";
import type { Writing } from "../state/written-decisions.ts";
import { nameInList } from "../texts/name-of-chat.ts";
import { readableArguments, revealed } from "../texts/revealed.ts";
import { useFormat } from "../words/format.ts";
import { useWords } from "../words/use-words.ts";
import "./approvals.css";
import { Choices } from "./choices.tsx";
import { DecisionForm, firstText } from "./decision-form.tsx";
import { approvalWords, type ApprovalWords } from "./words.ts";

interface ApprovalCardProps {
  pending: PendingApproval;
  place: "here" | "tray";
  /** Keys approve and deny it. */
  hasKeys?: boolean | undefined;
  onDecided?: (() => void) | undefined;
}

/** A decision that an agent waits for, with all that is needed to take it. */
export function ApprovalCard({ pending, place, hasKeys = false, onDecided }: ApprovalCardProps) {
  const page = usePage();
  const words = useWords(approvalWords);
  const format = useFormat();
  const titleId = useId();
  const { approval } = pending;
  const isDeciding = usePicked(page.approvals.deciding, (all) => all.has(approval.approval_id));
  const card = useFocusPassedOn();
  const written = usePicked(page.approvals.written, (all) => all.get(approval.approval_id));
  const [isOpenedHere, setOpenedHere] = useState(false);
  // It may have been left in the tray, or where it is asked.
  if (isOpenedHere && written === undefined) setOpenedHere(false);
  /** What was begun to be written, and left. */
  const [left, setLeft] = useState<Writing>();
  const [problem, setProblem] = useUntilReached();
  const write = (writing: Writing) => {
    setOpenedHere(true);
    page.approvals.write(approval.approval_id, { writing, text: firstText(writing, pending) });
  };
  const decide = async (body: DecisionBody) => {
    if (page.approvals.deciding.get().has(approval.approval_id)) return;
    setProblem(undefined);
    try {
      await page.approvals.decide(approval.approval_id, body);
      onDecided?.();
    } catch (error) {
      setProblem(notDecided(error, words));
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
      <header className="approvals-head">
        <Icon name="hand" />
        <h3 id={titleId}>{questionOf(pending, words)}</h3>
      </header>
      {place === "tray" && <Origin pending={pending} words={words} />}
      {used !== undefined && limit !== undefined && (
        <p>{words.used(String(used), String(limit))}</p>
      )}
      <WhyAsked pending={pending} words={words} />
      <Matter pending={pending} words={words} />
      {expires_at !== undefined && (
        <p className="quiet">{words.expires(format.exactly(expires_at))}</p>
      )}
      {written === undefined ? (
        <Choices
          pending={pending}
          words={words}
          busy={isDeciding}
          left={left}
          hasKeys={hasKeys}
          onDecide={(body) => void decide(body)}
          onWrite={write}
        />
      ) : (
        <DecisionForm
          pending={pending}
          written={written}
          takesFocus={isOpenedHere}
          words={words}
          busy={isDeciding}
          problem={problem?.text}
          onWrite={(text) => page.approvals.write(approval.approval_id, { ...written, text })}
          onDecide={(body) => void decide(body)}
          onCancel={() => {
            setLeft(written.writing);
            page.approvals.write(approval.approval_id, undefined);
            setProblem(undefined);
          }}
        />
      )}
      {written === undefined && problem !== undefined && (
        <p className="approvals-problem" role="alert">
          {problem.text}
        </p>
      )}
    </div>
  );
}

/** When what has the focus goes away, to what comes next: another card, the list of them, the call or the answer. */
function useFocusPassedOn() {
  const card = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const shown = card.current;
    return () => {
      if (shown?.contains(document.activeElement) === true) nextTo(shown)?.focus();
    };
  }, []);
  return card;
}

function nextTo(card: HTMLElement): HTMLElement | null {
  const cards = [card.nextElementSibling, card.previousElementSibling];
  const beside = cards.find((each) => each?.classList.contains("approvals-card") === true);
  if (beside instanceof HTMLElement) return beside;
  return (
    card.closest<HTMLElement>(".approvals-panel") ??
    card.closest("[data-call]")?.querySelector("button") ??
    card.closest<HTMLElement>("article")
  );
}

interface PartProps {
  pending: PendingApproval;
  words: ApprovalWords;
}

function Origin({ pending: { chat, agent, depth }, words }: PartProps) {
  const name = chat && nameInList(chat);
  const who = depth > 0 ? `${words.subAgent} ${agent}` : agent;
  return (
    <p className="quiet">
      {words.by(who)}
      {chat !== undefined && (
        <>
          {" "}
          {name === undefined || name === "" ? words.inUntitled : words.inChat(name)}{" "}
          <a href={hashOf({ is: "chat", chatId: chat.chat_id, nodeId: chat.node_id })}>
            {words.showInChat}
          </a>
        </>
      )}
    </p>
  );
}

function WhyAsked({ pending: { outcome }, words }: PartProps) {
  if (outcome === "failed") return <p>{words.heldFailure}</p>;
  return outcome === "timeout" ? <p>{words.heldTimeout}</p> : null;
}

/** What it is about: arguments that would be run, or a result that is held. */
function Matter({ pending, words }: PartProps) {
  const { block_list: blocks, kind } = pending.approval;
  if (kind === "result" && blocks !== undefined)
    return (
      <div className="approvals-matter" role="group" aria-label={words.heldResult}>
        <Blocks blocks={blocks.map(withNothingHidden)} />
      </div>
    );
  if (pending.call === undefined) return null;
  return <ExecutedArguments pending={pending} words={words} />;
}

function withNothingHidden(block: Block): Block {
  return block.type === "text" ? { ...block, text: revealed(block.text) } : block;
}

/** What a person is asked, in one line. The server's own question comes before ours. */
export function questionOf({ approval, call }: PendingApproval, words: ApprovalWords): string {
  const tool = call?.name ?? approval.tool ?? "";
  switch (approval.kind) {
    case "call":
      return words.askCall(tool);
    case "result":
      return words.askResult(tool);
    case "limit":
      return words.askLimit(approval.limit_name ?? "");
    case "reconcile":
      return words.askReconcile(tool);
    case "question":
    default:
      return approval.question ?? words.askOther;
  }
}

export interface NotDecided {
  readonly text: string;
  /** It is over when the gateway is there again. */
  readonly isUnreachable: boolean;
}

/** Why a decision was not taken, and what to do. What the gateway says is said as it is. */
function notDecided(failure: unknown, words: ApprovalWords): NotDecided {
  const isUnreachable = failure instanceof ChatApiError && failure.code === "unreachable";
  const why = failure instanceof Error ? failure.message : String(failure);
  return { text: isUnreachable ? words.notReached : words.notDecided(why), isUnreachable };
}

/** What went wrong: that nobody could be reached only until somebody can. */
function useUntilReached() {
  const isLive = usePicked(usePage().connection, ({ is }) => is === "live" || is === "outdated");
  const [wasLive, setWasLive] = useState(isLive);
  const [problem, setProblem] = useState<NotDecided>();
  if (isLive !== wasLive) {
    setWasLive(isLive);
    if (isLive && problem?.isUnreachable === true) setProblem(undefined);
  }
  return [problem, setProblem] as const;
}

interface ExecutedArgumentsProps {
  pending: PendingApproval;
  words: ApprovalWords;
}

/** The arguments that would run, or that ran before a crash, with the content of variables in them. */
function ExecutedArguments({ pending: { approval, call }, words }: ExecutedArgumentsProps) {
  const { expanded_arguments: expanded, kind } = approval;
  const note = kind === "reconcile" ? words.asItRan : words.variablesFilledIn;
  if (expanded !== undefined && !("text" in expanded))
    return <LongArguments expanded={expanded} note={note} words={words} />;
  const text = readableArguments(expanded?.text ?? call?.arguments ?? "");
  return (
    <>
      {expanded !== undefined && <p className="quiet">{note}</p>}
      <LongText text={text || words.noArguments} mono label={words.arguments} />
    </>
  );
}

interface LongArgumentsProps {
  expanded: Exclude<ExpandedArguments, { text: string }>;
  note: string;
  words: ApprovalWords;
}

function LongArguments({ expanded: { head, tail, length, url }, note, words }: LongArgumentsProps) {
  const page = usePage();
  const [complete, setComplete] = useState<string>();
  const [isReading, setReading] = useState(false);
  const read = async () => {
    setReading(true);
    const text = await page.attempt(async () => {
      const reply = await page.ask(url);
      if (!reply.ok) throw new Error(words.argumentsNotRead(reply.status));
      return reply.text();
    });
    setReading(false);
    if (text !== undefined) setComplete(readableArguments(text));
  };
  const left = length - head.length - tail.length;
  const excerpt = `${revealed(head)}\n\n[… ${words.leftOut(left)} …]\n\n${revealed(tail)}`;
  return (
    <>
      <p className="quiet">
        {note} {words.lengthOfArguments(length)}
      </p>
      <LongText text={complete ?? excerpt} mono label={words.arguments} />
      {complete === undefined && (
        <div className="approvals-choices">
          <Button busy={isReading} onClick={() => void read()}>
            {words.readAll}
          </Button>
        </div>
      )}
    </>
  );
}
