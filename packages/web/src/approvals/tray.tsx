import { useEffect, useId, useRef, useState } from "react";
import type { DecisionBody, PendingApproval } from "@deltawire/tasks/chats";
import { cell } from "../cell.ts";
import { useCell, usePicked } from "../hooks/use-cell.ts";
import { useCommands, useOpenChat, usePage } from "../hooks/use-page.ts";
import { IconButton } from "../parts/button.tsx";
import { Empty } from "../parts/signs.tsx";
import type { Command } from "../state/commands.ts";
import type { ListState, OpenChatState } from "../state/page.ts";
import { nameInList, nameOfChat } from "../texts/name-of-chat.ts";
import { useWords } from "../words/use-words.ts";
import { ApprovalCard, questionOf } from "./approval-card.tsx";
import "./approvals.css";
import { approvedOnce, approveKey, denyKey } from "./choices.tsx";
import { approvalWords } from "./words.ts";

/** Nobody who reads before pressing is faster. */
const settleMs = 500;

/** What waits for a person in any chat, from wherever one is. */
export function ApprovalTray() {
  const page = usePage();
  const { approvals } = page;
  const words = useWords(approvalWords);
  const pending = useCell(approvals.pending);
  const [isOpen, setOpen] = useState(false);
  const panel = useRef<HTMLElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const id = useId();
  const [oldest] = pending;
  // Keys decide what the person has seen to be the oldest, and not what has just become it.
  const hasKeys = useSettled(isOpen ? oldest?.approval.approval_id : undefined, settleMs);
  const close = () => {
    setOpen(false);
    button.current?.focus();
  };
  const closeAfterTheLast = () => {
    if (approvals.pending.get().length === 0) close();
  };
  const decisionsFor = ({ approval }: PendingApproval): Command[] => {
    const { approval_id: approvalId, choices } = approval;
    const decide = (body: DecisionBody) => {
      if (approvals.deciding.get().has(approvalId)) return;
      void page.attempt(() => approvals.decide(approvalId, body)).then(closeAfterTheLast);
    };
    const approve = {
      id: "approve oldest",
      title: words.approveFirst,
      group: words.group,
      keys: approveKey,
      hidden: true,
      run: () => decide(approvedOnce(approval)),
    };
    const deny = {
      id: "deny oldest",
      title: words.denyFirst,
      group: words.group,
      keys: denyKey,
      hidden: true,
      run: () => decide({ decision: "deny" }),
    };
    return [
      ...(choices.includes("approve") ? [approve] : []),
      ...(choices.includes("deny") ? [deny] : []),
    ];
  };
  useCommands([
    {
      id: "approvals",
      title: words.openTray,
      group: words.group,
      keys: "a",
      run: () => setOpen(true),
    },
    ...(hasKeys && oldest !== undefined ? decisionsFor(oldest) : []),
  ]);
  useEffect(() => {
    if (isOpen) panel.current?.focus();
  }, [isOpen]);
  return (
    <div className="approvals-tray">
      <IconButton
        ref={button}
        icon="hand"
        className="approvals-button"
        label={words.trayLabel(pending.length)}
        aria-expanded={isOpen}
        aria-controls={isOpen ? id : undefined}
        data-waiting={pending.length > 0 || undefined}
        onClick={() => setOpen(!isOpen)}
      >
        {pending.length > 0 && <span aria-hidden="true">{pending.length}</span>}
      </IconButton>
      <NewlyAsked pending={pending} />
      {isOpen && (
        // Escape closes it from anywhere within.
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions
        <section
          ref={panel}
          id={id}
          className="approvals-panel"
          aria-label={words.trayTitle}
          tabIndex={-1}
          onKeyDown={(event) => {
            if (event.key !== "Escape") return;
            event.stopPropagation();
            close();
          }}
        >
          <header>
            <h2>{words.trayTitle}</h2>
            <IconButton icon="close" label={words.close} small onClick={close} />
          </header>
          {pending.length === 0 ? (
            <Empty title={words.trayEmptyTitle} text={words.trayEmpty} />
          ) : (
            pending.map((each) => (
              <ApprovalCard
                key={each.approval.approval_id}
                pending={each}
                place="tray"
                hasKeys={hasKeys && each === oldest}
                onDecided={closeAfterTheLast}
              />
            ))
          )}
        </section>
      )}
    </div>
  );
}

function NewlyAsked({ pending }: { pending: readonly PendingApproval[] }) {
  const words = useWords(approvalWords);
  const [told, setTold] = useState(nothingTold);
  if (told.pending !== pending) setTold(newlyAsked(told, pending));
  const { asked } = told;
  return (
    <div className="for-readers" role="status">
      {asked.map((each) => (
        // By its id: the same words once more are something new.
        <p key={each.approval.approval_id}>{words.newApproval(questionOf(each, words))}</p>
      ))}
      {asked.length > 0 && <p>{words.newCount(told.pending.length)}</p>}
    </div>
  );
}

/** What a screen reader was told of. */
export interface Told {
  /** All that waited at that time. */
  readonly pending: readonly PendingApproval[];
  /** What was new; it is told with how many wait. */
  readonly asked: readonly PendingApproval[];
}

export const nothingTold: Told = { pending: [], asked: [] };

/** Each question is told once, also if another one has the same words. When one is decided, no other is told again. */
export function newlyAsked(last: Told, pending: readonly PendingApproval[]): Told {
  const before = idsOf(last.pending);
  const now = idsOf(pending);
  const asked = pending.filter(({ approval }) => !before.has(approval.approval_id));
  if (asked.length > 0) return { pending, asked };
  const hasGone = [...before].some((id) => !now.has(id));
  return { pending, asked: hasGone ? [] : last.asked };
}

function idsOf(pending: readonly PendingApproval[]): ReadonlySet<string> {
  return new Set(pending.map(({ approval }) => approval.approval_id));
}

/** Whether this has been the same for a while. */
function useSettled(value: string | undefined, ms: number): boolean {
  const [settled, setSettled] = useState<string>();
  useEffect(() => {
    if (value === undefined) return undefined;
    const timer = setTimeout(() => setSettled(value), ms);
    return () => {
      clearTimeout(timer);
      setSettled(undefined);
    };
  }, [value, ms]);
  return value !== undefined && settled === value;
}

/** The tab says how many decisions wait, and what it shows. */
export function useTitleCount(): void {
  const page = usePage();
  const count = usePicked(page.approvals.pending, (pending) => pending.length);
  const chatId = usePicked(page.router.route, (route) =>
    "chatId" in route ? route.chatId : undefined,
  );
  const chat = useOpenChat(chatId);
  const shown = usePicked(chat?.state ?? noChat, titleShown);
  const listed = usePicked(page.list.state, (list) => titleInList(list, chatId));
  const title = shown ?? listed;
  useEffect(() => {
    document.title = tabTitle(count, title);
  }, [count, title]);
}

const noChat = cell<OpenChatState>({ is: "missing" });

/** Undefined before the chat is there: the list, which has only the newest, may know it sooner. */
function titleShown(state: OpenChatState): string | undefined {
  return state.is === "ready" ? nameOfChat(state.chat) : undefined;
}

function titleInList(list: ListState, chatId: string | undefined): string {
  if (list.is !== "ready") return "";
  const chat = list.chats.find(({ chat_id }) => chat_id === chatId);
  return chat === undefined ? "" : nameInList(chat);
}

export function tabTitle(count: number, title: string): string {
  const name = title === "" ? "Deltawire" : `${title} · Deltawire`;
  return count === 0 ? name : `(${count}) ${name}`;
}
