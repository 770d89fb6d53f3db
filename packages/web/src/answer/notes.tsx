import { memo, useMemo } from "react";
import type { TaskWarning } from "@deltawire/tasks";
import { Icon } from "../parts/icon.tsx";
import { useWords } from "../words/use-words.ts";
import { Disclosure } from "./disclosure.tsx";
import { useFold } from "./folds.ts";
import { notesOf, type Note } from "./notes-of.ts";
import { noticeWords } from "./notice-words.ts";
import { repairWords } from "./repair-words.ts";
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
