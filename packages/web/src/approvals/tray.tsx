import { useEffect, useId, useRef, useState } from "react";
import type { DecisionBody, PendingApproval } from "@deltawire/tasks/chats";
import { IconButton } from "../parts/button.tsx";
import { Empty } from "../parts/signs.tsx";
import { useCell } from "../state/cell.ts";
import { useCommands, type Command } from "../state/commands.ts";
import { usePage } from "../state/page.ts";
import { useWords } from "../words/words.ts";
import { ApprovalCard } from "./approval-card.tsx";
import { approvedOnce } from "./approved-once.ts";
import { questionOf } from "./question-of.ts";
import { approvalWords } from "./words.ts";
import "./approvals.css";

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
  const close = () => {
    setOpen(false);
    button.current?.focus();
  };
  const closeAfterTheLast = () => {
    if (approvals.pending.get().length === 0) close();
  };
  const decisionsFor = ({ approval }: PendingApproval): Command[] => {
    const { approval_id: approvalId, choices } = approval;
    const decide = (body: DecisionBody) =>
      void page.attempt(() => approvals.decide(approvalId, body)).then(closeAfterTheLast);
    const approve = {
      id: "approve oldest",
      title: words.approveFirst,
      group: words.group,
      keys: "y",
      run: () => decide(approvedOnce(approval)),
    };
    const deny = {
      id: "deny oldest",
      title: words.denyFirst,
      group: words.group,
      keys: "d",
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
    ...(isOpen && oldest !== undefined ? decisionsFor(oldest) : []),
  ]);
  useEffect(() => {
    if (isOpen) panel.current?.focus();
  }, [isOpen]);
  const newest = pending.at(-1);
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
      <span className="for-readers" role="status">
        {newest !== undefined && words.newApproval(questionOf(newest, words))}
      </span>
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
            if (event.key === "Escape") close();
          }}
        >
          <header>
            <h2>{words.trayTitle}</h2>
            <IconButton icon="close" label={words.cancel} small onClick={close} />
          </header>
          {pending.length === 0 ? (
            <Empty title={words.trayEmptyTitle} text={words.trayEmpty} />
          ) : (
            pending.map((each) => (
              <ApprovalCard
                key={each.approval.approval_id}
                pending={each}
                place="tray"
                onDecided={closeAfterTheLast}
              />
            ))
          )}
        </section>
      )}
    </div>
  );
}
