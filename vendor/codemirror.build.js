/*
 * Bundles CodeMirror once into static/vendor/codemirror.js. The result is committed, so that neither running nor
 * testing the application needs Node. Run `make vendor` after changing a version in package.json.
 */
import { readFileSync } from "node:fs";
import { build } from "esbuild";

const root = new URL("..", import.meta.url).pathname;
const lock = JSON.parse(readFileSync(`${root}package-lock.json`, "utf8"));

const options = {
  absWorkingDir: root,
  entryPoints: ["vendor/codemirror.entry.js"],
  outfile: "static/vendor/codemirror.js",
  bundle: true,
  format: /** @type {const} */ ("esm"),
  target: "es2022",
  minify: true,
  legalComments: /** @type {const} */ ("none"),
};

/** Packages whose code really ends up in the bundle, each with the version that the lock file pins. */
const { metafile } = await build({ ...options, write: false, metafile: true });
const used = Object.values(metafile.outputs)
  .flatMap((output) => Object.entries(output.inputs))
  .filter(([, input]) => input.bytesInOutput > 0)
  .flatMap(([path]) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? []);
const bundled = [...new Set(used)].sort().map((name) => `${name} ${lock.packages[`node_modules/${name}`].version}`);

const banner = `/*!
 * CodeMirror 6, bundled from vendor/codemirror.entry.js by \`make vendor\`. Do not edit.
 * ${bundled.join(", ")}
 *
 * MIT License. Copyright (C) 2018 by Marijn Haverbeke <marijn@haverbeke.berlin> and others.
 * The full text stands in static/vendor/LICENSES.txt.
 */`;

await build({ ...options, banner: { js: banner } });
