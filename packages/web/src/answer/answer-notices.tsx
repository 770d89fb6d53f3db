import { memo, useMemo } from "react";
import type { TaskWarning } from "@deltawire/tasks";
import { Icon } from "../ui/icon.tsx";
import { useMessages } from "../messages/use-messages.ts";
import { Disclosure } from "./disclosure.tsx";
import { useDisclosureState } from "./disclosure-state.ts";
import {
  isKnownRepairCode,
  noticeMessages,
  repairMessages,
  losslessRepairs,
  type KnownRepairCode,
} from "./notice-messages.ts";
import { answerMessages } from "./messages.ts";

interface AnswerNoticesProps {
  notices: readonly string[];
  warnings: readonly TaskWarning[];
  versionId: string;
}

/**
 * Shows what was omitted, changed or repaired in the request and the reply. Renders nothing if there are only lossless repairs:
 * these are shown with the token usage.
 */
export const AnswerNotices = memo(function AnswerNotices({
  notices,
  warnings,
  versionId,
}: AnswerNoticesProps) {
  const t = useMessages(answerMessages);
  const [open, setOpen] = useDisclosureState(`notes ${versionId}`, false);
  const { important, lossless } = useMemo(
    () => groupNotices(notices, warnings),
    [notices, warnings],
  );
  if (important.length === 0) return null;
  return (
    <Disclosure
      className="answer-notices"
      open={open}
      onToggle={setOpen}
      summary={
        <>
          <Icon name="info" small />
          <span>{t.notices(important.length)}</span>
        </>
      }
    >
      <NoticeList notices={important} />
      <LosslessNotices notices={lossless} />
    </Disclosure>
  );
});

/** Repairs that lost no information. */
export function LosslessNotices({ notices }: { notices: readonly AnswerNotice[] }) {
  const t = useMessages(answerMessages);
  if (notices.length === 0) return null;
  return (
    <>
      <p className="answer-label">{t.losslessNotices}</p>
      <NoticeList notices={notices} />
    </>
  );
}

function NoticeList({ notices }: { notices: readonly AnswerNotice[] }) {
  const repairs = useMessages(repairMessages);
  const { translate } = useMessages(noticeMessages);
  if (notices.length === 0) return null;
  return (
    <ul dir="auto">
      {notices.map((notice, index) => (
        <li key={index}>
          {notice.type === "repair" ? repairs[notice.code] : translate(notice.text)}
          {notice.times > 1 && ` ×${notice.times}`}
        </li>
      ))}
    </ul>
  );
}

/** Notices that the user should know about, and lossless repairs. */
export interface NoticeGroups {
  readonly important: readonly AnswerNotice[];
  readonly lossless: readonly AnswerNotice[];
}

export type AnswerNotice =
  | { readonly type: "repair"; readonly code: KnownRepairCode; readonly times: number }
  /** Shown unchanged unless there is a translation. */
  | { readonly type: "text"; readonly text: string; readonly times: number };

export function groupNotices(
  notices: readonly string[],
  warnings: readonly TaskWarning[],
): NoticeGroups {
  const important: AnswerNotice[] = notices.map((text) => ({ type: "text", text, times: 1 }));
  const repairs = new Map<string, number>();
  for (const { code, message, count } of warnings) {
    const repairCounts = code === "reply_repaired" ? parseRepairs(message) : undefined;
    if (repairCounts === undefined) important.push({ type: "text", text: message, times: count });
    for (const [storedCode, times] of repairCounts ?? []) {
      const repair = formerRepairCodes.get(storedCode) ?? storedCode;
      repairs.set(repair, (repairs.get(repair) ?? 0) + times * count);
    }
  }
  const lossless: AnswerNotice[] = [];
  for (const [code, times] of repairs)
    if (!isKnownRepairCode(code)) important.push({ type: "text", text: code, times });
    else (losslessRepairs.has(code) ? lossless : important).push({ type: "repair", code, times });
  return { important, lossless };
}

/** Current repair codes, by the codes in answers that the first version stored. */
const formerRepairCodes: ReadonlyMap<string, string> = new Map([
  ["arguments_not_whole", "arguments_incomplete"],
  ["whole_reply_for_stream", "complete_reply_for_stream"],
  ["stream_for_whole_reply", "stream_for_complete_reply"],
  ["carry_lost", "opaque_reasoning_lost"],
  ["call_id_minted", "call_id_generated"],
]);

/** Parses "1 x call_id_generated, 2 x tool_dropped". Returns undefined for any other message. */
function parseRepairs(message: string): [code: string, times: number][] | undefined {
  const entries: [string, number][] = [];
  for (const part of message.split(", ")) {
    const [, times, code] = /^(\d+) x (\w+)$/.exec(part) ?? [];
    if (times === undefined || code === undefined) return undefined;
    entries.push([code, Number(times)]);
  }
  return entries;
}
