import { useCell } from "../hooks/use-cell.ts";
import { usePage } from "../hooks/use-page.ts";
import { Button } from "../parts/button.tsx";
import { Field, Select } from "../parts/field.tsx";
import { Fold } from "../parts/signs.tsx";
import { useCopying } from "../parts/copying.ts";
import { useWords } from "../words/use-words.ts";
import type { CodexMigration, CodexStatus } from "./read-status.ts";
import { upstreamWords, type UpstreamWords } from "./words.ts";

interface ConnectCodexProps {
  codex: CodexStatus;
  onModel: (model: string) => void;
}

export function ConnectCodex({ codex, onModel }: ConnectCodexProps) {
  const words = useWords(upstreamWords);
  const choices = useCell(usePage().choices);
  const { model, block } = codex;
  const names = (choices?.models ?? [])
    .filter(({ type }) => type === "chat")
    .map(({ name }) => name);
  const offered = names.includes(model) ? names : [model, ...names];
  return (
    <section className="upstreams-card" aria-label={words.codex}>
      <header>
        <h2>{words.codex}</h2>
      </header>
      <Field label={words.model}>
        <Select value={model} onChange={(event) => onModel(event.currentTarget.value)}>
          {offered.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </Select>
      </Field>
      <p>{words.codexRun}</p>
      <ToCopy label={words.codexRun} text={codex.command} words={words} />
      <p>{words.codexPaste}</p>
      <ToCopy label={words.codexPaste} text={block} words={words} />
      {codex.token_required && <p className="upstreams-quiet">{words.codexToken}</p>}
      <Migration migration={codex.migration} words={words} />
    </section>
  );
}

function Migration({ migration, words }: { migration: CodexMigration; words: UpstreamWords }) {
  return (
    <Fold summary={words.migration} open={migration.is === "possible" ? true : undefined}>
      <div className="upstreams-migration">
        {migration.is === "unknown" && <p>{words.migrationUnknown}</p>}
        {migration.is === "not needed" && <p>{words.migrationNotNeeded(migration.file)}</p>}
        {migration.is === "impossible" && <p>{words.migrationImpossible(migration.why)}</p>}
        {migration.is === "possible" && (
          <>
            <p>{words.migrationIntro}</p>
            {migration.changes.map(({ file, diff }) => (
              <Diff key={file} file={file} diff={diff} />
            ))}
            {migration.unset.length > 0 && <p>{words.unset(migration.unset.join(", "))}</p>}
            <p>{words.migrationRun}</p>
            <ToCopy label={words.migrationRun} text="npm start -- migrate --write" words={words} />
          </>
        )}
        {"notes" in migration && migration.notes.length > 0 && (
          <ul>
            {migration.notes.map((note) => (
              <li key={note}>{note}</li>
            ))}
          </ul>
        )}
      </div>
    </Fold>
  );
}

function Diff({ file, diff }: { file: string; diff: string }) {
  const lines = diff.trimEnd().split("\n");
  return (
    // What scrolls has to be reached by the keyboard.
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <pre className="upstreams-code" role="group" aria-label={file} tabIndex={0}>
      {lines.map((line, at) => (
        <span key={at} data-sign={/^[+-](?![+-]{2} )/.exec(line)?.[0]}>
          {line}
        </span>
      ))}
    </pre>
  );
}

function ToCopy({ label, text, words }: { label: string; text: string; words: UpstreamWords }) {
  const { state, copy } = useCopying(() => text);
  return (
    <div className="upstreams-copy">
      {/* What scrolls has to be reached by the keyboard. */}
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <pre className="upstreams-code" role="group" aria-label={label} tabIndex={0}>
        {text}
      </pre>
      <Button
        small
        icon={state === "copied" ? "check" : "copy"}
        aria-label={`${words[state]}: ${label}`}
        onClick={copy}
      >
        {words[state]}
      </Button>
      <span className="for-readers" role="status">
        {state === "copy" ? "" : words[state]}
      </span>
    </div>
  );
}
