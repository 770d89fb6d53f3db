import { memo, useMemo } from "react";
import type { TaskWarning } from "@deltawire/tasks";
import { Icon } from "../parts/icon.tsx";
import { useWords } from "../words/use-words.ts";
import { Disclosure } from "./disclosure.tsx";
import { useFold } from "./folds.ts";
import {
  isRepairCode,
  noticeWords,
  repairWords,
  usualRepairs,
  type RepairCode,
} from "./note-words.ts";
import { answerWords } from "./words.ts";

interface NotesProps {
  notices: readonly string[];
  warnings: readonly TaskWarning[];
  versionId: string;
}

/** What was left out, changed or mended on the way. What is only as usual stands with the answer's tokens instead. */
export const Notes = memo(function Notes({ notices, warnings, versionId }: NotesProps) {
  const words = useWords(answerWords);
  const [open, setOpen] = useFold(`notes ${versionId}`, false);
  const { told, usual } = useMemo(() => notesOf(notices, warnings), [notices, warnings]);
  if (told.length === 0) return null;
  return (
    <Disclosure
      className="answer-notes"
      open={open}
      onToggle={setOpen}
      head={
        <>
          <Icon name="info" small />
          <span>{words.notes(told.length)}</span>
        </>
      }
    >
      <NoteList notes={told} />
      <UsualNotes usual={usual} />
    </Disclosure>
  );
});

/** What was adapted for the model without a loss. */
export function UsualNotes({ usual }: { usual: readonly Note[] }) {
  const words = useWords(answerWords);
  if (usual.length === 0) return null;
  return (
    <>
      <p className="answer-label">{words.usualNotes}</p>
      <NoteList notes={usual} />
    </>
  );
}

function NoteList({ notes }: { notes: readonly Note[] }) {
  const words = useWords(answerWords);
  const repairs = useWords(repairWords);
  const { translate } = useWords(noticeWords);
  if (notes.length === 0) return null;
  return (
    <ul dir="auto">
      {notes.map((note, at) => (
        <li key={at}>
          {note.is === "repair" ? repairs[note.code] : translate(note.words)}
          {note.times > 1 && ` (${words.times(note.times)})`}
        </li>
      ))}
    </ul>
  );
}

/** What is said of an answer below it: what a reader should know, and what is as usual. */
export interface NotesView {
  readonly told: readonly Note[];
  readonly usual: readonly Note[];
}

export type Note =
  | { readonly is: "repair"; readonly code: RepairCode; readonly times: number }
  /** As it came. */
  | { readonly is: "words"; readonly words: string; readonly times: number };

export function notesOf(notices: readonly string[], warnings: readonly TaskWarning[]): NotesView {
  const told: Note[] = notices.map((words) => ({ is: "words", words, times: 1 }));
  const repairs = new Map<string, number>();
  for (const { code, message, count } of warnings) {
    const mended = code === "reply_repaired" ? repairsIn(message) : undefined;
    if (mended === undefined) told.push({ is: "words", words: message, times: count });
    for (const [repair, times] of mended ?? [])
      repairs.set(repair, (repairs.get(repair) ?? 0) + times * count);
  }
  const usual: Note[] = [];
  for (const [code, times] of repairs)
    if (!isRepairCode(code)) told.push({ is: "words", words: code, times });
    else (usualRepairs.has(code) ? usual : told).push({ is: "repair", code, times });
  return { told, usual };
}

/** Of "1 x call_id_minted, 2 x tool_dropped": what was mended, and how often. Undefined: it says something else. */
function repairsIn(message: string): [code: string, times: number][] | undefined {
  const found: [string, number][] = [];
  for (const one of message.split(", ")) {
    const [, times, code] = /^(\d+) x (\w+)$/.exec(one) ?? [];
    if (times === undefined || code === undefined) return undefined;
    found.push([code, Number(times)]);
  }
  return found;
}
