import { useEffect, useId, useRef, useState } from "react";
import type { DecisionBody, PendingApproval } from "@deltawire/tasks/chats";
import { createCell } from "../cell.ts";
import { useCell, useCellSelector } from "../hooks/use-cell.ts";
import { useCommands, useOpenChat, useAppStore } from "../hooks/use-app-store.ts";
import { IconButton } from "../ui/button.tsx";
import { EmptyState } from "../ui/indicators.tsx";
import type { AppCommand } from "../state/command-registry.ts";
import type { ChatListState, OpenChatState } from "../state/app-store.ts";
import { getListedChatTitle, getChatTitle } from "../text/chat-title.ts";
import { useMessages } from "../messages/use-messages.ts";
import { ApprovalCard, formatQuestion } from "./approval-card.tsx";
import "./approvals.css";
import { buildApproveOnce, approveShortcut, denyShortcut } from "./decision-buttons.tsx";
import { approvalMessages } from "./messages.ts";

/** Shortcuts are disabled for this long after another approval becomes the oldest, because nobody reads it faster. */
const shortcutDelayMs = 500;

/** All pending approvals of all chats, reachable from every view. */
export function ApprovalTray() {
  const app = useAppStore();
  const { approvals } = app;
  const t = useMessages(approvalMessages);
  const pending = useCell(approvals.pending);
  const [isOpen, setOpen] = useState(false);
  const panel = useRef<HTMLElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const id = useId();
  const [oldest] = pending;
  // Shortcuts must not decide an approval that has just become the oldest one.
  const hasShortcuts = useIsStable(
    isOpen ? oldest?.approval.approval_id : undefined,
    shortcutDelayMs,
  );
  const close = () => {
    setOpen(false);
    button.current?.focus();
  };
  const closeIfEmpty = () => {
    if (approvals.pending.get().length === 0) close();
  };
  const createDecisionCommands = ({ approval }: PendingApproval): AppCommand[] => {
    const { approval_id: approvalId, choices } = approval;
    const decide = (body: DecisionBody) => {
      if (approvals.deciding.get().has(approvalId)) return;
      void app.attempt(() => approvals.decide(approvalId, body)).then(closeIfEmpty);
    };
    const approve = {
      id: "approve oldest",
      title: t.approveFirst,
      group: t.group,
      keys: approveShortcut,
      hidden: true,
      run: () => decide(buildApproveOnce(approval)),
    };
    const deny = {
      id: "deny oldest",
      title: t.denyFirst,
      group: t.group,
      keys: denyShortcut,
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
      title: t.openTray,
      group: t.group,
      keys: "a",
      run: () => setOpen(true),
    },
    ...(hasShortcuts && oldest !== undefined ? createDecisionCommands(oldest) : []),
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
        label={t.trayLabel(pending.length)}
        aria-expanded={isOpen}
        aria-controls={isOpen ? id : undefined}
        data-waiting={pending.length > 0 || undefined}
        onClick={() => setOpen(!isOpen)}
      >
        {pending.length > 0 && <span aria-hidden="true">{pending.length}</span>}
      </IconButton>
      <ApprovalAnnouncer pending={pending} />
      {isOpen && (
        // Escape closes the panel from any element inside it.
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions
        <section
          ref={panel}
          id={id}
          className="approvals-panel"
          aria-label={t.trayTitle}
          tabIndex={-1}
          onKeyDown={(event) => {
            if (event.key !== "Escape") return;
            event.stopPropagation();
            close();
          }}
        >
          <header>
            <h2>{t.trayTitle}</h2>
            <IconButton icon="close" label={t.close} small onClick={close} />
          </header>
          {pending.length === 0 ? (
            <EmptyState title={t.trayEmptyTitle} text={t.trayEmpty} />
          ) : (
            pending.map((item) => (
              <ApprovalCard
                key={item.approval.approval_id}
                pending={item}
                placement="tray"
                hasShortcuts={hasShortcuts && item === oldest}
                onDecided={closeIfEmpty}
              />
            ))
          )}
        </section>
      )}
    </div>
  );
}

function ApprovalAnnouncer({ pending }: { pending: readonly PendingApproval[] }) {
  const t = useMessages(approvalMessages);
  const [announcement, setAnnouncement] = useState(noApprovalAnnouncement);
  if (announcement.pending !== pending)
    setAnnouncement(updateApprovalAnnouncement(announcement, pending));
  const { added } = announcement;
  return (
    <div className="visually-hidden" role="status">
      {added.map((item) => (
        // Keyed by id, so that a second question with the same text is announced, too.
        <p key={item.approval.approval_id}>{t.newApproval(formatQuestion(item, t))}</p>
      ))}
      {added.length > 0 && <p>{t.newCount(announcement.pending.length)}</p>}
    </div>
  );
}

/** The last announcement to screen readers. */
export interface ApprovalAnnouncement {
  /** All approvals that were pending at the time of the announcement. */
  readonly pending: readonly PendingApproval[];
  /** The new ones. They are announced together with the total count. */
  readonly added: readonly PendingApproval[];
}

export const noApprovalAnnouncement: ApprovalAnnouncement = { pending: [], added: [] };

/** Returns the announcement for a changed list. Each approval is announced once; a decision causes no announcement. */
export function updateApprovalAnnouncement(
  previous: ApprovalAnnouncement,
  pending: readonly PendingApproval[],
): ApprovalAnnouncement {
  const previousIds = toApprovalIds(previous.pending);
  const ids = toApprovalIds(pending);
  const added = pending.filter(({ approval }) => !previousIds.has(approval.approval_id));
  if (added.length > 0) return { pending, added };
  const hasRemoved = [...previousIds].some((id) => !ids.has(id));
  return { pending, added: hasRemoved ? [] : previous.added };
}

function toApprovalIds(pending: readonly PendingApproval[]): ReadonlySet<string> {
  return new Set(pending.map(({ approval }) => approval.approval_id));
}

/** True if the value is defined and has not changed for `delayMs`. */
function useIsStable(value: string | undefined, delayMs: number): boolean {
  const [stableValue, setStableValue] = useState<string>();
  useEffect(() => {
    if (value === undefined) return undefined;
    const timer = setTimeout(() => setStableValue(value), delayMs);
    return () => {
      clearTimeout(timer);
      setStableValue(undefined);
    };
  }, [value, delayMs]);
  return value !== undefined && stableValue === value;
}

/** Sets `document.title` to the title of the open chat, with the number of pending approvals. */
export function useDocumentTitle(): void {
  const app = useAppStore();
  const count = useCellSelector(app.approvals.pending, (pending) => pending.length);
  const chatId = useCellSelector(app.router.route, (route) =>
    "chatId" in route ? route.chatId : undefined,
  );
  const chat = useOpenChat(chatId);
  const openTitle = useCellSelector(chat?.state ?? missingChatCell, getOpenChatTitle);
  const listedTitle = useCellSelector(app.chatList.state, (list) => findListedTitle(list, chatId));
  const title = openTitle ?? listedTitle;
  useEffect(() => {
    document.title = formatDocumentTitle(count, title);
  }, [count, title]);
}

const missingChatCell = createCell<OpenChatState>({ status: "missing" });

/** Returns undefined until the chat is loaded. The chat list may have its title sooner, but contains only the newest chats. */
function getOpenChatTitle(state: OpenChatState): string | undefined {
  return state.status === "ready" ? getChatTitle(state.chat) : undefined;
}

function findListedTitle(list: ChatListState, chatId: string | undefined): string {
  if (list.status !== "ready") return "";
  const chat = list.chats.find(({ chat_id }) => chat_id === chatId);
  return chat === undefined ? "" : getListedChatTitle(chat);
}

export function formatDocumentTitle(count: number, title: string): string {
  const name = title === "" ? "Deltawire" : `${title} · Deltawire`;
  return count === 0 ? name : `(${count}) ${name}`;
}
