import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { doctorArguments, reportOf, summaryOf } from "../../src/daemon/doctor";

const WELL = { checks: [{ check: "version", ok: true, found: "snapd 1.0" }] };
const ILL = { checks: [...WELL.checks, { check: "folder", ok: false, found: "/p: it is a home folder" }] };

describe("doctor", () => {
  it("names the folder in an argument of its own", () => {
    assert.deepEqual(doctorArguments("/a b"), ["doctor", "--json", "-C", "/a b"]);
  });

  it("tells each check, and which failed", () => {
    const report = reportOf("/p", { code: 1, stdout: JSON.stringify(ILL), stderr: "" });
    assert.deepEqual(report, {
      folder: "/p",
      lines: ["ok  version   snapd 1.0", "bad folder    /p: it is a home folder"],
      failed: ["folder"],
    });
    const well = reportOf("/q", { code: 0, stdout: JSON.stringify(WELL), stderr: "" });
    assert.equal(summaryOf([well]), "Snapd doctor: no problems found.");
    assert.equal(summaryOf([well, report]), "Snapd doctor found problems: folder (/p). The log has the details.");
  });

  for (const stdout of ["", "Traceback", "null", "{}", '{"checks": [null]}', '{"checks": [{"check": 1}]}']) {
    it(`counts the answer ${JSON.stringify(stdout)} as a failure, and shows what was said`, () => {
      const report = reportOf("/p", { code: 2, stdout, stderr: "no such option\n" });
      assert.deepEqual(report, {
        folder: "/p",
        lines: ["snapd doctor ended with code 2", "no such option"],
        failed: ["doctor"],
      });
    });
  }
});
